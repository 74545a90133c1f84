package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// Spec is one image to build.
type Spec struct {
	Definition string   // its text
	Dir        string   // where the files that it copies lie
	Dest       string   // IMG.sif; the log goes to IMG.sif.log
	Program    string   // apptainer or singularity
	Flags      []string // of `apptainer build`: Mode.Flags, Compression
	TmpDir     string   // where the root filesystem is put together; "" is Apptainer's own choice
}

// Argv is the command that builds; definition and image are in the private
// folder work.
func (s Spec) Argv(work string) []string {
	argv := []string{s.Program, "build"}
	argv = append(argv, s.Flags...)
	return append(argv, filepath.Join(work, "image.sif"), filepath.Join(work, "definition.def"))
}

// LogPath is where the full log lies, also after a failure.
func (s Spec) LogPath() string { return s.Dest + ".log" }

// grace is how long Apptainer has to clean its own temporary folder.
const grace = 20 * time.Second

// Build makes s.Dest or leaves it as it was: Apptainer writes into a private
// folder beside it, and a rename is the last thing that happens. Each line of
// Apptainer's output is written to the log and handed to watch.
func Build(ctx context.Context, r runner.Runner, s Spec, watch io.Writer) error {
	if err := sweep(ctx, r, s.Dest); err != nil {
		return err
	}
	work, err := workDir(ctx, r, s)
	if err != nil {
		return err
	}
	defer work.remove(ctx, r)
	log, err := os.Create(s.LogPath())
	if err != nil {
		return writeError(err)
	}
	defer log.Close()
	if err := s.apptainer(ctx, r, work, io.MultiWriter(log, watch)); err != nil {
		return err
	}
	return s.publish(work)
}

func (s Spec) apptainer(ctx context.Context, r runner.Runner, w *work, out io.Writer) error {
	argv := s.Argv(w.dir)
	fmt.Fprintf(out, "# %s\n", strings.Join(argv, " "))
	keep := &keeper{w: out}
	res, err := r.Run(ctx, runner.Cmd{Argv: argv, Env: s.env(w), Dir: s.Dir, Stdout: keep, Stderr: keep, Own: true, Tied: true, Grace: grace})
	switch {
	case ctx.Err() != nil:
		return fail.New(fail.Failed, "the same command again starts over", "build stopped; %s is as it was: %w", s.Dest, context.Cause(ctx))
	case err != nil:
		return fail.New(fail.Failed, "", "%s: %w", s.Program, err)
	case res.ExitCode != 0:
		return explain(s, keep.text(), res.ExitCode)
	}
	return nil
}

// env gives Apptainer a temporary folder of its own, so that what a killed one
// leaves can be found and removed, and the administrators' programs, which
// debootstrap and mksquashfs need and an ordinary user's PATH lacks on Debian.
func (s Spec) env(w *work) []string {
	path := "PATH=" + os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin"
	if w.tmp == "" {
		return []string{path}
	}
	return []string{"APPTAINER_TMPDIR=" + w.tmp, "SINGULARITY_TMPDIR=" + w.tmp, path}
}

// publish puts the finished image in its place.
func (s Spec) publish(w *work) error {
	made := filepath.Join(w.dir, "image.sif")
	f, err := os.Open(made)
	if errors.Is(err, fs.ErrNotExist) {
		return fail.New(fail.Failed, "read "+s.LogPath(), "%s ended without an error and without an image", s.Program)
	}
	if err != nil {
		return writeError(err)
	}
	err = errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(made, s.Dest)
	}
	if err != nil {
		return writeError(err)
	}
	return nil
}

// writeError says what to do about a full or unwritable disk.
func writeError(err error) error {
	hint := ""
	switch {
	case full(err.Error()):
		hint = "df -h; another place for the image: -o DIR/IMG.sif, for temporary files: --tmpdir DIR"
	case errors.Is(err, fs.ErrPermission):
		hint = "choose a folder you may write: -o DIR/IMG.sif"
	case errors.Is(err, fs.ErrNotExist):
		hint = "make the folder first: mkdir -p"
	}
	return fail.New(fail.Failed, hint, "%w", err)
}
