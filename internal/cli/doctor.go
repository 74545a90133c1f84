package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/check"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/logscan"
)

// DoctorOptions is what `nearmetal doctor` was asked.
type DoctorOptions struct {
	Logs    []string // "-" is stdin
	Context []string // files of what is known besides the log
	JSON    bool
	Format  string
	live    liveFlags
}

func newDoctor(d Deps, runF func(context.Context, Deps, DoctorOptions) error) *cobra.Command {
	var o DoctorOptions
	c := &cobra.Command{
		Use:   "doctor [--log FILE… | -N NODES]",
		Short: "from a job's log or a node to the cause and the fix",
		Long: `Name the root cause of a failed, hung or slow MPI or GPU job, show the evidence
and give the fix, by who can apply it.

With --log it reads job output of any size (gzip too, - is stdin) and nothing
else. Without, it looks at this node, and with -N at compute nodes through one
job step, as an ordinary user. Nothing leaves the machine.

Exit code: 3 when a warning or an error was found, 0 otherwise.`,
		Example: `  nearmetal doctor --log slurm-123.out
  srun … 2>&1 | nearmetal doctor --log -
  nearmetal doctor --log job.out --context known.txt --json
  nearmetal doctor -N 2 --image app.sif
  nearmetal doctor explain memlock-limit`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && len(o.Logs) == 0 {
				return fail.Usagef("nearmetal doctor --log "+args[0], "%s takes no argument %q", c.CommandPath(), args[0])
			}
			o.Logs = append(o.Logs, args...)
			return runF(c.Context(), d, o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.Logs, "log", nil, "diagnose this job output (`FILE`, repeat or list more; - is stdin)")
	f.StringArrayVar(&o.Context, "context", nil, "`FILE` with what is known besides the log: command line, versions, environment; free text or key: value")
	f.BoolVar(&o.JSON, "json", false, "one JSON document, schema "+check.Schema)
	f.StringVar(&o.Format, "format", "", "`FORMAT`: text, json, sarif or junit (default text)")
	o.live.add(c)
	c.AddCommand(newExplain(d, runExplain))
	return c
}

func runDoctor(ctx context.Context, d Deps, o DoctorOptions) error {
	if o.live.collect {
		return o.live.printFacts(ctx, d)
	}
	write, err := o.writer(d)
	if err != nil {
		return err
	}
	doc, err := check.New(check.All())
	if err != nil {
		return err
	}
	in, err := o.input(ctx, d, doc)
	if err != nil {
		return err
	}
	fs := doc.Run(in)
	if err := write(fs); err != nil {
		return err
	}
	if len(fs) == 0 {
		fmt.Fprintln(d.Err, o.nothing(in))
	}
	if check.Alarm(fs) {
		return fail.Exit(fail.Findings)
	}
	return nil
}

// input gathers logs, context and, where they are wanted, live facts.
func (o DoctorOptions) input(ctx context.Context, d Deps, doc *check.Doctor) (check.Input, error) {
	var in check.Input
	for _, path := range o.Context {
		text, err := readAll(d, path, 1<<20)
		if err != nil {
			return in, err
		}
		in.Context += string(text) + "\n"
	}
	for _, path := range o.Logs {
		s, err := scanLog(d, doc, path)
		if err != nil {
			return in, err
		}
		in.Signals.Merge(s)
	}
	if len(o.Logs) > 0 && o.live.Nodes == 0 && o.live.Bundle == "" && o.live.Image == "" && o.live.Save == "" {
		return in, nil
	}
	seen, err := o.live.observe(ctx, d)
	if err != nil {
		return in, err
	}
	s, err := seen.scan(doc)
	if err != nil {
		return in, err
	}
	in.Signals.Merge(s)
	in.Nodes = seen.facts
	return in, o.save(d, seen)
}

func (o DoctorOptions) save(d Deps, seen observed) error {
	if o.live.Save == "" {
		return nil
	}
	logs := map[string][]byte{}
	for _, path := range o.Logs {
		if path == "-" {
			continue // read already
		}
		text, err := readAll(d, path, 64<<20)
		if err != nil {
			return err
		}
		logs[filepath.Base(path)] = text
	}
	return o.live.save(d, seen, logs)
}

func scanLog(d Deps, doc *check.Doctor, path string) (logscan.Signals, error) {
	if path == "-" {
		return doc.Scan(d.In, "stdin")
	}
	f, err := os.Open(path)
	if err != nil {
		return logscan.Signals{}, fail.Usagef("nearmetal doctor --log slurm-JOBID.out", "log: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return logscan.Signals{}, fail.Usagef("nearmetal doctor --log "+path+"/*", "log: %s is a directory", path)
	}
	return doc.Scan(f, path)
}

// readAll reads a small file, at most limit bytes.
func readAll(d Deps, path string, limit int64) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(d.In, limit))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fail.Usagef("nearmetal doctor --help", "%w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// writer is the view that was asked for.
func (o DoctorOptions) writer(d Deps) (func([]check.Finding) error, error) {
	format := o.Format
	if o.JSON {
		format = "json"
	}
	switch format {
	case "", "text":
		return func(fs []check.Finding) error {
			return check.Text(d.Out, fs, check.TextStyle{Color: d.Color, Width: min(d.Width, 120)})
		}, nil
	case "json":
		return func(fs []check.Finding) error { return check.JSON(d.Out, fs) }, nil
	case "sarif":
		return func(fs []check.Finding) error { return check.SARIF(d.Out, Version, fs) }, nil
	case "junit":
		return func(fs []check.Finding) error { return check.JUnit(d.Out, fs) }, nil
	}
	return nil, fail.Usagef("nearmetal doctor --format json", "unknown format %q; formats are text, json, sarif, junit", format)
}

// nothing says what was looked at in vain, and what to try.
func (o DoctorOptions) nothing(in check.Input) string {
	if len(o.Logs) == 0 {
		return fmt.Sprintf("nothing wrong found on %d node(s)", len(in.Nodes))
	}
	return fmt.Sprintf("no known cause in %d lines; more to see with: NCCL_DEBUG=INFO UCX_LOG_LEVEL=info FI_LOG_LEVEL=warn OMPI_MCA_mca_base_verbose=1 srun --label …", in.Signals.Lines)
}
