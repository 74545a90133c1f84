package collect

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nearmetal/nearmetal/internal/image"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/site"
)

// libexec are where distributions put Apptainer's own helpers.
var libexec = []string{"usr/libexec/apptainer/bin", "usr/local/libexec/apptainer/bin", "usr/lib/x86_64-linux-gnu/apptainer/bin",
	"usr/lib/apptainer/bin", "usr/libexec/singularity/bin", "usr/local/libexec/singularity/bin"}

func (c *Collector) container(ctx context.Context) site.Container {
	o := site.Container{Version: c.outputFact(ctx, "apptainer", "version")}
	if o.Version == nil {
		o.Version = c.outputFact(ctx, "singularity", "version")
	}
	if o.Version != nil {
		o.Setuid = c.setuid()
		o.Squashfuse = c.squashfuse()
		o.LoopDevices = c.loopDevices()
	}
	if info, err := fs.Stat(c.fs(), "dev/fuse"); err == nil {
		o.FuseMode = site.Of(info.Mode().Perm().String(), "/dev/fuse")
		o.FuseOpens = site.Of(access(filepath.Join(c.Root, "dev/fuse"), 6), "access /dev/fuse")
	}
	o.SubUID = c.subuid()
	if c.Image != "" {
		f, err := os.Open(c.Image)
		if err == nil {
			f.Close()
		}
		o.ImageReads = site.Of(err == nil, "open "+c.Image)
		o.ImageArch = imageArch(c.Image)
	}
	return o
}

func (c *Collector) setuid() *site.Fact[bool] {
	for _, dir := range libexec {
		if info, err := fs.Stat(c.fs(), path.Join(dir, "starter-suid")); err == nil {
			return site.Of(info.Mode()&fs.ModeSetuid != 0, "/"+path.Join(dir, "starter-suid"))
		}
	}
	return site.Of(false, "starter-suid not found")
}

func (c *Collector) squashfuse() *site.Fact[bool] {
	for _, dir := range append([]string{"usr/bin", "usr/local/bin"}, libexec...) {
		for _, name := range []string{"squashfuse_ll", "squashfuse"} {
			if _, err := fs.Stat(c.fs(), path.Join(dir, name)); err == nil {
				return site.Of(true, "/"+path.Join(dir, name))
			}
		}
	}
	return site.Of(false, "squashfuse not found")
}

func (c *Collector) loopDevices() *site.Fact[int] {
	text, _ := c.text("etc/apptainer/apptainer.conf")
	for _, line := range strings.Split(text, "\n") {
		k, v, ok := strings.Cut(line, "=")
		if n, err := strconv.Atoi(strings.TrimSpace(v)); ok && err == nil && strings.TrimSpace(k) == "max loop devices" {
			return site.Of(n, "/etc/apptainer/apptainer.conf")
		}
	}
	return nil
}

func (c *Collector) subuid() *site.Fact[bool] {
	text, ok := c.text("etc/subuid")
	if !ok {
		return nil
	}
	id := strconv.Itoa(os.Getuid())
	for _, line := range strings.Split(text, "\n") {
		name, _, _ := strings.Cut(line, ":")
		if name != "" && (name == id || name == c.getenv("USER")) {
			return site.Of(true, "/etc/subuid")
		}
	}
	return site.Of(false, "/etc/subuid")
}

// enter runs ourselves inside the image: the program is static and needs
// nothing of it, not even its architecture.
func (c *Collector) enter(ctx context.Context) ([]site.Facts, *site.Fact[string]) {
	argv := []string{"apptainer", "exec"}
	if _, err := c.Run.Look("apptainer"); err != nil {
		argv[0] = "singularity"
	}
	if c.NV {
		argv = append(argv, "--nv")
	}
	argv = append(argv, "--bind", c.Self+":"+c.Self+":ro", c.Image, c.Self, "doctor", "--collect", "--inside", "--image", c.Image)
	var out, errs bytes.Buffer
	res, err := c.Run.Run(ctx, runner.Cmd{Argv: argv, Stdout: &out, Stderr: &errs})
	facts, bad := Decode(&out)
	if err == nil && res.ExitCode == 0 && bad == nil && len(facts) > 0 {
		return facts, nil
	}
	why := lastLines(errs.String(), 5)
	if why == "" && err != nil {
		why = err.Error()
	}
	return nil, site.Of(why, strings.Join(argv[:2], " ")+" "+c.Image)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (c *Collector) inside(ctx context.Context) site.Inside {
	var in site.Inside
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		in.HostArch = site.Of(unix.ByteSliceToString(u.Machine[:]), "uname")
	}
	if s, ok := c.output(ctx, "mpirun", "--version"); ok {
		first, _, _ := strings.Cut(s, "\n")
		in.MPI = site.Of(first, "mpirun --version")
	}
	in.UCX = c.firstLine(ctx, "ucx_info", "-v")
	in.PMIx = c.firstLine(ctx, "pmix_info", "--version")
	in.CUDA = c.textFact("usr/local/cuda/version.json")
	if dir := c.getenv("PMIX_SERVER_TMPDIR"); dir != "" {
		_, err := os.Stat(dir)
		in.Spool = site.Of(err == nil, dir)
	}
	c.libraries(ctx, &in)
	return in
}

func (c *Collector) firstLine(ctx context.Context, argv ...string) *site.Fact[string] {
	s, ok := c.output(ctx, argv...)
	if !ok {
		return nil
	}
	first, _, _ := strings.Cut(s, "\n")
	return site.Of(first, strings.Join(argv, " "))
}

// libraries runs ldd over the image's MPI: what is missing, and what is loaded
// twice under two names.
func (c *Collector) libraries(ctx context.Context, in *site.Inside) {
	for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/opt/openmpi/bin", "/opt/view/bin"} {
		for _, program := range []string{"ompi_info", "nearmetal-probe"} {
			full := path.Join(dir, program)
			if !access(full, 1) {
				continue
			}
			text, ok := c.output(ctx, "ldd", full)
			if !ok {
				continue
			}
			double, missing := parseLdd(text)
			in.Double, in.Missing = site.Of(double, "ldd "+full), site.Of(missing, "ldd "+full)
			return
		}
	}
}

// parseLdd finds libraries of two versions in one program, and those not found.
func parseLdd(text string) (double, missing []string) {
	seen := map[string]string{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 3 || f[1] != "=>" {
			continue
		}
		if f[2] == "not" {
			missing = append(missing, f[0])
			continue
		}
		base, _, _ := strings.Cut(f[0], ".so")
		if other, ok := seen[base]; ok && other != f[2] {
			double = append(double, other+" and "+f[2])
		}
		seen[base] = f[2]
	}
	return double, missing
}

// machines are ELF machines as uname -m calls them.
var machines = map[elf.Machine]string{
	elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64", elf.EM_PPC64: "ppc64le", elf.EM_386: "i686",
	elf.EM_ARM: "armv7l", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x",
}

// programArch is what /bin/sh was built for.
func (c *Collector) programArch() *site.Fact[string] {
	for _, p := range []string{"/bin/sh", "/usr/bin/sh", "/bin/bash", "/bin/busybox"} {
		f, err := elf.Open(filepath.Join(c.Root, p))
		if err != nil {
			continue
		}
		f.Close()
		if m := machines[f.Machine]; m != "" {
			return site.Of(m, p)
		}
		return site.Of(f.Machine.String(), p)
	}
	return nil
}

// imageArch is what the image says it was built for, as uname -m says it.
func imageArch(path string) *site.Fact[string] {
	i, err := image.Open(path)
	if err != nil || i.Arch == "" {
		return nil
	}
	goArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l"}
	if m := goArch[i.Arch]; m != "" {
		return site.Of(m, path)
	}
	return site.Of(i.Arch, path)
}
