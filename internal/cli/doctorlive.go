package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/check"
	"github.com/nearmetal/nearmetal/internal/collect"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/logscan"
	"github.com/nearmetal/nearmetal/internal/site"
)

// liveFlags are what doctor takes to look at nodes, and to carry what it saw.
type liveFlags struct {
	Nodes            int
	Image, Partition string
	Account, QOS     string
	Srun             []string
	NV, Raw          bool
	Wait             time.Duration
	Save, Bundle     string
	collect, inside  bool
}

func (o *liveFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.IntVarP(&o.Nodes, "nodes", "N", 0, "look at this many compute nodes, through one job step")
	f.StringVar(&o.Image, "image", "", "look inside this image too, on every node")
	f.BoolVar(&o.NV, "nv", false, "NVIDIA GPUs in the container")
	f.StringVarP(&o.Partition, "partition", "p", "", "partition")
	f.StringVarP(&o.Account, "account", "A", "", "account")
	f.StringVarP(&o.QOS, "qos", "q", "", "quality of service")
	f.StringArrayVar(&o.Srun, "srun", nil, "further srun option (repeat), such as --srun=--jobid=123 --srun=--overlap")
	f.DurationVar(&o.Wait, "wait", 2*time.Minute, "how long the step may wait and run")
	f.StringVar(&o.Save, "save", "", "write facts and logs into a bundle (.tar.gz), names and addresses replaced")
	f.BoolVar(&o.Raw, "raw", false, "with --save: keep names and addresses")
	f.StringVar(&o.Bundle, "bundle", "", "diagnose a bundle instead of this place")
	f.BoolVar(&o.collect, "collect", false, "print this node's facts (what the job step runs)")
	f.BoolVar(&o.inside, "inside", false, "with --collect: we run inside the image")
	_ = f.MarkHidden("collect")
	_ = f.MarkHidden("inside")
}

// observed is what a live look or a bundle gave.
type observed struct {
	facts []site.Facts
	logs  map[string][]byte // of a bundle
}

// observe looks at this place, or reads the bundle.
func (o liveFlags) observe(ctx context.Context, d Deps) (observed, error) {
	if o.Bundle != "" {
		f, err := os.Open(o.Bundle)
		if err != nil {
			return observed{}, fail.Usagef("nearmetal doctor --save bundle.tar.gz makes one", "bundle: %w", err)
		}
		defer f.Close()
		b, err := collect.Read(f)
		return observed{b.Facts, b.Logs}, err
	}
	c, err := o.collector(d)
	if err != nil {
		return observed{}, err
	}
	facts, err := c.Cluster(ctx, collect.Step{
		Nodes: o.Nodes, Partition: o.Partition, Account: o.Account, QOS: o.QOS, Options: o.Srun, Limit: o.Wait,
	})
	return observed{facts: facts}, err
}

func (o liveFlags) collector(d Deps) (collect.Collector, error) {
	self, err := os.Executable()
	if err != nil {
		return collect.Collector{}, err
	}
	c := collect.Collector{Root: "/", Run: d.Runner, Env: os.Environ(), Now: d.Now, Self: self, NV: o.NV, Inside: o.inside}
	if o.Image != "" {
		if c.Image, err = filepath.Abs(o.Image); err != nil {
			return c, err
		}
	}
	return c, nil
}

// printFacts is what each task of the step does.
func (o liveFlags) printFacts(ctx context.Context, d Deps) error {
	c, err := o.collector(d)
	if err != nil {
		return err
	}
	c = collect.InStep(c)
	facts := c.Node(ctx)
	return collect.Encode(d.Out, facts[0].Node, facts)
}

// scan reads what the launch and the image said as logs, as they are, and the
// logs of a bundle.
func (s observed) scan(doc *check.Doctor) (logscan.Signals, error) {
	var all logscan.Signals
	add := func(name, text string) error {
		sig, err := doc.Scan(strings.NewReader(text), name)
		if err == nil {
			all.Merge(sig)
		}
		return err
	}
	for _, f := range s.facts {
		if l := f.Launch; l != nil && len(l.Said) > 0 {
			if err := add("srun (the step that looked at the nodes)", strings.Join(l.Said, "\n")+"\n"); err != nil {
				return all, err
			}
		}
		if e := f.Container.ImageError; e != nil {
			if err := add(f.Node+": "+e.Source, e.Value+"\n"); err != nil {
				return all, err
			}
		}
	}
	for name, text := range s.logs {
		if err := add(name, string(bytes.TrimSpace(text))+"\n"); err != nil {
			return all, err
		}
	}
	return all, nil
}

// save writes the bundle that --save asks for; logs are by path.
func (o liveFlags) save(d Deps, s observed, logs map[string][]byte) error {
	b := collect.Bundle{Created: d.Now().UTC(), Facts: s.facts, Logs: map[string][]byte{}}
	for name, text := range s.logs {
		b.Logs[name] = text
	}
	for name, text := range logs {
		b.Logs[name] = text
	}
	if !o.Raw {
		if err := b.Redact([]string{d.Getenv("USER"), d.Getenv("LOGNAME")}); err != nil {
			return err
		}
	}
	return b.Save(o.Save)
}
