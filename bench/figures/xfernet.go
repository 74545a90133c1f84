package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nearmetal/nearmetal/internal/runner"
)

// Two hosts in network namespaces of their own, joined by veth pairs at MTU
// 9000: traffic never leaves them.
const (
	hostA = "nmxfer-a"
	hostB = "nmxfer-b"
)

// xferNet is the scale model: links veth pairs between the two hosts.
type xferNet struct {
	runner runner.Runner
	links  int
}

func addrA(link int) string { return fmt.Sprintf("10.78.%d.1", link) }
func addrB(link int) string { return fmt.Sprintf("10.78.%d.2", link) }

func newXferNet(ctx context.Context, r runner.Runner, links int) (*xferNet, error) {
	n := &xferNet{r, links}
	n.close() // what an interrupted run left
	for _, h := range []string{hostA, hostB} {
		if err := n.all(ctx, []string{"ip netns add " + h, "ip -n " + h + " link set lo up"}); err != nil {
			return nil, err
		}
	}
	for i := range links {
		dev := fmt.Sprintf("v%d", i)
		err := n.all(ctx, []string{
			fmt.Sprintf("ip link add %s netns %s type veth peer name %s netns %s", dev, hostA, dev, hostB),
			fmt.Sprintf("ip -n %s link set %s mtu 9000 up", hostA, dev),
			fmt.Sprintf("ip -n %s link set %s mtu 9000 up", hostB, dev),
			fmt.Sprintf("ip -n %s addr add %s/24 dev %s", hostA, addrA(i), dev),
			fmt.Sprintf("ip -n %s addr add %s/24 dev %s", hostB, addrB(i), dev),
		})
		if err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// shape puts an HTB class of rate (tc's notation) on both ends of every link.
func (n *xferNet) shape(ctx context.Context, rate string) error {
	var lines []string
	for _, h := range []string{hostA, hostB} {
		for i := range n.links {
			lines = append(lines,
				fmt.Sprintf("tc -n %s qdisc replace dev v%d root handle 1: htb default 1", h, i),
				fmt.Sprintf("tc -n %s class replace dev v%d parent 1: classid 1:1 htb rate %s ceil %s burst 64k cburst 64k quantum 60000", h, i, rate, rate))
		}
	}
	return n.all(ctx, lines)
}

func (n *xferNet) all(ctx context.Context, lines []string) error {
	for _, l := range lines {
		if _, err := runner.Output(ctx, n.runner, strings.Fields(l)...); err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
	}
	return nil
}

// close takes both hosts away; their links go with them. It works after an
// interrupt, too.
func (n *xferNet) close() {
	for _, h := range []string{hostA, hostB} {
		_, _ = runner.Output(context.Background(), n.runner, "ip", "netns", "del", h) // it may not exist
	}
}

// on is a command line on a host of the model; "" is this machine.
func on(host string, argv ...string) []string {
	if host == "" {
		return argv
	}
	return append([]string{"ip", "netns", "exec", host}, argv...)
}

// both runs a server and, a moment later, a client; it gives the client's output.
func both(ctx context.Context, r runner.Runner, server, client []string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var talk strings.Builder
		res, err := r.Run(ctx, runner.Cmd{Argv: server, Stdout: io.Discard, Stderr: &talk})
		if err == nil && res.ExitCode != 0 {
			err = fmt.Errorf("%q: exit status %d: %s", server, res.ExitCode, strings.TrimSpace(talk.String()))
		}
		failed = err
	}()
	out, err := runner.Output(ctx, r, client...)
	if err != nil {
		cancel()
		<-ended
		return nil, errors.Join(err, failed)
	}
	<-ended
	return out, failed
}
