package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/image"
)

// BuildOptions is what `nearmetal build` was asked.
type BuildOptions struct {
	Recipe   string
	Base     string
	Output   string
	Force    bool
	DryRun   bool
	NoTest   bool
	TmpFS    bool
	TmpDir   string
	Compress string
	Site     defs.Site
}

const buildLong = `Build an image from a recipe: a file, or the name of one that comes with
nearmetal (nearmetal init --list). Apptainer does the work; no root is needed.

An image that is there and has the same definition is left alone (--force
builds it again). The image appears when it is finished, by a rename; a failed
or stopped build leaves what was there. The full log is IMG.sif.log.`

func newBuild(d Deps, runF func(context.Context, Deps, BuildOptions) error) *cobra.Command {
	var o BuildOptions
	c := &cobra.Command{
		Use:   "build RECIPE -o IMG.sif",
		Short: "build an image from a recipe",
		Long:  buildLong,
		Example: `  nearmetal build openmpi-debian -o openmpi.sif
  nearmetal build my.yaml -o my.sif --tmpfs
  nearmetal build my.yaml -o my.sif --base localimage:/shared/bases/trixie
  nearmetal build my.yaml -o my.sif --dry-run`,
		Args: exactly(1, "RECIPE"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Recipe = args[0]
			return runF(c.Context(), d, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "the image, `IMG.sif`")
	f.BoolVar(&o.Force, "force", false, "build it again, and overwrite what nearmetal did not make")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the definition and the command, and stop")
	f.BoolVar(&o.NoTest, "no-test", false, "do not run the image's %test")
	f.BoolVar(&o.TmpFS, "tmpfs", false, "put the image together in memory (/dev/shm)")
	f.StringVar(&o.TmpDir, "tmpdir", "", "put the image together in `DIR` (Apptainer's choice: $APPTAINER_TMPDIR or /tmp)")
	f.StringVar(&o.Compress, "compress", "zstd", "`METHOD`: zstd, gzip (for kernels before 4.14) or lz4 (starts fastest, a third larger)")
	baseFlag(c, &o.Base)
	siteFlags(c, &o.Site)
	return c
}

func runBuild(ctx context.Context, d Deps, o BuildOptions) error {
	site, err := absSite(o.Site)
	if err != nil {
		return err
	}
	src, err := loadRecipe(o.Recipe, o.Base, site)
	if err != nil {
		return err
	}
	mode := image.Choose(image.ThisHost(os.DirFS("/"), os.Geteuid()))
	spec, err := o.spec(src, mode)
	if err != nil {
		return err
	}
	if o.DryRun {
		return printBuild(d, src, spec, mode)
	}
	if done, err := upToDate(d, o, src.def); done || err != nil {
		return err
	}
	if spec.Program, err = apptainer(d); err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "building %s %s\nlog: %s\n", o.Output, mode.Reason, spec.LogPath())
	return build(ctx, d, src.recipe, spec)
}

// spec turns the options into what to build and how.
func (o BuildOptions) spec(src source, mode image.Mode) (image.Spec, error) {
	s := image.Spec{Definition: src.def.Text, Dir: src.dir, Dest: o.Output, Program: "apptainer", TmpDir: o.TmpDir}
	squash, ok := image.Compressions[o.Compress]
	switch {
	case o.Output == "":
		return s, fail.Usagef("nearmetal build "+o.Recipe+" -o "+src.recipe.Name+".sif", "no image named to write")
	case !ok:
		return s, fail.Usagef("--compress zstd", "--compress %q is not zstd, gzip or lz4", o.Compress)
	case o.TmpFS && o.TmpDir != "":
		return s, fail.Usagef("leave one of them out", "--tmpfs and --tmpdir exclude each other")
	case o.TmpFS:
		s.TmpDir = "/dev/shm"
	}
	s.Flags = append(append(s.Flags, mode.Flags...), "--mksquashfs-args", squash)
	if o.NoTest {
		s.Flags = append(s.Flags, "--notest")
	}
	return s, nil
}

func printBuild(d Deps, src source, s image.Spec, mode image.Mode) error {
	fmt.Fprint(d.Out, src.def.Text)
	fmt.Fprintf(d.Out, "\n# %s, in the folder %s:\n# %s\n", mode.Reason, src.dir, shellescape.QuoteCommand(s.Argv(".")))
	return nil
}

// apptainer finds the program; Singularity takes the same arguments.
func apptainer(d Deps) (string, error) {
	for _, name := range []string{"apptainer", "singularity"} {
		if _, err := d.Runner.Look(name); err == nil {
			return name, nil
		}
	}
	return "", fail.Missingf("nearmetal build --dry-run prints what would run; on many clusters: module load apptainer", "neither apptainer nor singularity is in PATH")
}

// upToDate says whether the image is there already with this definition, and
// refuses to overwrite what nearmetal did not make.
func upToDate(d Deps, o BuildOptions, def defs.Definition) (bool, error) {
	if _, err := os.Lstat(o.Output); err != nil || o.Force {
		return false, nil
	}
	img, err := image.Open(o.Output)
	switch {
	case err != nil:
		return false, fail.Usagef("nearmetal build --force … overwrites it", "%s is there and is no image that can be read: %w", o.Output, err)
	case img.Recipe == "":
		return false, fail.Usagef("nearmetal build --force … overwrites it", "%s is there and was not built by nearmetal", o.Output)
	case img.Definition == def.Text:
		fmt.Fprintf(d.Err, "%s is up to date: built from the same recipe (%s); --force builds it again\n", o.Output, short(def.Digest))
		return true, nil
	}
	return false, nil
}

func short(digest string) string {
	if i := strings.Index(digest, ":"); i >= 0 && len(digest) > i+13 {
		return digest[:i+13]
	}
	return digest
}

func build(ctx context.Context, d Deps, r defs.Recipe, s image.Spec) error {
	start := d.Now()
	p := &image.Progress{Staged: strings.Contains(s.Definition, "\nStage: "+defs.StageBuild+"\n")}
	stop := follow(d, p, start)
	err := image.Build(ctx, d.Runner, s, p)
	stop()
	if err != nil {
		return err
	}
	img, err := image.Open(s.Dest)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "built %s in %s: %s, %s\n", s.Dest, round(d.Now().Sub(start)), megabytes(img.Size), stackLine(img.Stack))
	fmt.Fprintf(d.Err, "next: nearmetal run --image %s -N 2 -n 2 -- %s\n", shellescape.Quote(filepath.Clean(s.Dest)), defs.ProbePath)
	return nil
}

func round(t time.Duration) time.Duration { return t.Round(time.Second) }

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

func stackLine(stack []image.Software) string {
	var out []string
	for _, s := range stack {
		out = append(out, s.Name+" "+s.Version)
	}
	return strings.Join(out, ", ")
}
