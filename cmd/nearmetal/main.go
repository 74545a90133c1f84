// Nearmetal builds, launches and measures HPC containers under Slurm, and says
// whether they run as fast as the bare metal.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/nearmetal/nearmetal/internal/cli"
	"github.com/nearmetal/nearmetal/internal/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], deps())
	stop()
	os.Exit(code)
}

func deps() cli.Deps {
	out, err := term.IsTerminal(int(os.Stdout.Fd())), term.IsTerminal(int(os.Stderr.Fd()))
	return cli.Deps{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Interactive: term.IsTerminal(int(os.Stdin.Fd())),
		Terminal:    err && os.Getenv("TERM") != "dumb",
		Color:       out && os.Getenv("NO_COLOR") == "",
		Width:       width(),
		Runner:      runner.Real{},
		Getenv:      os.Getenv,
		Now:         time.Now,
	}
}

func width() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
