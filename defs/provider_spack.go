package defs

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/spack"
)

// Providers of a stack.
const (
	ProviderDistro = "distro" // the distribution's packages
	ProviderSpack  = "spack"  // built by Spack in the build stage
)

// spackList holds "package version" for everything in the image's install tree.
const spackList = "/opt/nearmetal-stack.txt"

// spackTools is what Spack itself and its builds want of the distribution.
// python3 carries Spack; file, patch and the compressors unpack sources.
var spackTools = map[string][]string{
	"apt":    {"gcc", "g++", "gfortran", "libc6-dev", "make", "patch", "python3", "git", "ca-certificates", "file", "tar", "gzip", "bzip2", "xz-utils", "unzip", "curl", "gnupg"},
	"dnf":    {"gcc", "gcc-c++", "gcc-gfortran", "glibc-devel", "make", "patch", "python3", "git", "file", "tar", "gzip", "bzip2", "xz", "unzip", "findutils", "gnupg2"},
	"zypper": {"gcc", "gcc-c++", "gcc-fortran", "glibc-devel", "make", "patch", "python311", "git", "file", "tar", "gzip", "bzip2", "xz", "unzip", "gpg2"},
}

// spackFamily is a distribution's family with the stack out of Spack's hands:
// one view has every program, and libraries are found by their run paths.
func spackFamily(f family) family {
	cat, err := spack.Load()
	if err != nil {
		panic(err) // part of the binary
	}
	f.versions = "cat " + spackList
	f.tools = spackTools[f.name]
	f.software = map[string]packageSet{}
	for _, s := range cat {
		f.software[s.Name] = packageSet{query: s.Package, bin: spack.View + "/bin"}
	}
	return f
}

// environment is what the recipe's spack.yaml says. The overlays lie in the
// build stage, or in folder, the recipe's own, where that is not "".
func (r Recipe) environment(site Site, folder string) spack.Environment {
	e := spack.Environment{
		Version: r.Spack.Version, Stack: r.Stack.pieces(), Specs: r.Spack.Specs, Variants: r.Spack.Variants,
		Target: r.Spack.Target, Compiler: r.Spack.Compiler,
	}
	for _, repo := range r.Spack.Repos {
		at := spack.Repos + "/" + path.Base(repo)
		if folder != "" {
			at = path.Join(folder, repo)
		}
		e.Repos = append(e.Repos, spack.Named{Name: path.Base(repo), URL: at})
	}
	for _, spec := range sortedKeys(r.Spack.External) {
		e.External = append(e.External, spack.Named{Name: spec, URL: r.Spack.External[spec]})
	}
	if site.Mirror != "" {
		e.Mirrors = append(e.Mirrors, spack.Named{Name: "site", URL: site.mirrorURL()})
	}
	for _, name := range sortedKeys(r.Spack.Mirrors) {
		e.Mirrors = append(e.Mirrors, spack.Named{Name: name, URL: r.Spack.Mirrors[name]})
	}
	return e
}

// SpackYAML is the environment that the build stage installs; with folder, the
// recipe's own, it is the one to concretize there.
func (r Recipe) SpackYAML(site Site, folder string) (string, error) {
	if err := append(Validate(r), site.faults(r)...).asError(); err != nil {
		return "", err
	}
	if r.Provider != ProviderSpack {
		return "", Faults{{Field: "provider", Msg: "only provider: spack has a spack.yaml"}}
	}
	cat, err := spack.Load()
	if err != nil {
		return "", err
	}
	return cat.Render(r.environment(site, folder))
}

func (s Site) mirrorURL() string {
	if strings.HasPrefix(s.Mirror, "/") {
		return "file://" + spack.Mirror
	}
	return s.Mirror
}

// spackFiles brings in what lies outside: the lock and overlays beside the
// recipe, the site's tree and mirror.
func (w *writer) spackFiles(r Recipe) {
	if r.Provider != ProviderSpack {
		return
	}
	var lines []string
	if r.Lock != nil && r.Lock.Path != "" {
		lines = append(lines, "# sha256 "+r.Lock.SHA256, fmt.Sprintf("%q %q", "./"+r.Lock.Path, spack.EnvDir+"/spack.lock"))
	}
	for _, repo := range r.Spack.Repos {
		lines = append(lines, fmt.Sprintf("%q %q", "./"+repo, spack.Repos+"/"+path.Base(repo)))
	}
	if w.site.SpackRoot != "" {
		lines = append(lines, fmt.Sprintf("%q %q", w.site.SpackRoot, spack.Tree))
	}
	if strings.HasPrefix(w.site.Mirror, "/") {
		lines = append(lines, fmt.Sprintf("%q %q", w.site.Mirror, spack.Mirror))
	}
	if len(lines) == 0 {
		return
	}
	w.open("%files")
	for _, l := range lines {
		w.line("%s", l)
	}
}

// spack writes what installs the stack. Apptainer's %post has the network of
// the build host; with a tree and a mirror nothing asks for it.
func (w *writer) spack(r Recipe) {
	if r.Provider != ProviderSpack {
		return
	}
	text, err := r.SpackYAML(w.site, "")
	if err != nil {
		panic(err) // validated before
	}
	if w.site.SpackRoot == "" {
		w.line("git -c advice.detachedHead=false clone -q --depth 1 --branch %s %s %s", word(r.Spack.ref()), word(r.Spack.git()), spack.Tree)
	}
	w.line("export SPACK_DISABLE_LOCAL_CONFIG=1 SPACK_USER_CACHE_PATH=/tmp/nearmetal-spack PATH=%s/bin:\"$PATH\"", spack.Tree)
	w.line("mkdir -p %s", spack.EnvDir)
	w.line("printf %%s %s >%s/spack.yaml", quote(text), spack.EnvDir)
	w.line("spack compiler find --scope site >/dev/null")
	if r.locked() {
		w.line("echo '%s  %s/spack.lock' | sha256sum -c --quiet -", r.Lock.SHA256, spack.EnvDir)
		w.line("cp %[1]s/spack.lock %[1]s/spack.lock.before", spack.EnvDir)
	} else {
		w.line("spack -e %s concretize", spack.EnvDir)
	}
	w.line("spack -e %s install --fail-fast", spack.EnvDir)
	if r.locked() {
		w.line("cmp %[1]s/spack.lock.before %[1]s/spack.lock", spack.EnvDir)
	}
	w.line("spack -e %s gc -y", spack.EnvDir)
	w.line("spack -e %s find --format '{name} {version}' >%s", spack.EnvDir, spackList)
	w.line("# symbols and what only compiling wants do not go into the image")
	w.line("find %s -type f \\( -name '*.so*' -o -perm /111 \\) -exec strip --strip-unneeded {} + 2>/dev/null || true", spack.Install)
}

func (r Recipe) locked() bool { return r.Lock != nil && r.Lock.Path != "" }

func (r Recipe) lockDigest() string {
	if !r.locked() {
		return ""
	}
	return "sha256:" + r.Lock.SHA256
}

func (s *Spack) git() string {
	if s.Git != "" {
		return s.Git
	}
	return "https://github.com/spack/spack.git"
}

func (s *Spack) ref() string {
	switch {
	case s.Ref != "":
		return s.Ref
	case strings.Count(s.Version, ".") < 2:
		return "v" + s.Version + ".0"
	}
	return "v" + s.Version
}

var (
	spackVersionRE = regexp.MustCompile(`^(0\.2[2-9]|1\.[0-9]+)(\.[0-9]+)?$`)
	gitRE          = regexp.MustCompile(`^(https|ssh|file)://[A-Za-z0-9._~:/@+-]{1,254}$`)
	gitRefRE       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$`)
	targetRE       = regexp.MustCompile(`^[a-z0-9][a-z0-9_.]{0,63}$`)
	compilerRE     = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}(@[0-9][A-Za-z0-9.]{0,31})?$`)
	specRE         = regexp.MustCompile(`^[a-z0-9]([A-Za-z0-9@.:=,+~^%_ -]{0,999}[A-Za-z0-9:])?$`)
	variantsRE     = regexp.MustCompile(`^[a-z0-9+~][A-Za-z0-9=,+~_. -]{0,999}[A-Za-z0-9]$`)
	spackMirrorRE  = regexp.MustCompile(`^(https?|file|s3|oci)://[A-Za-z0-9._~:/@+-]{1,254}$`)
	externalRE     = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}@[0-9][A-Za-z0-9.]{0,31}$`)
	mirrorNameRE   = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
)

func (c *checker) spack(r Recipe) {
	s := r.Spack
	switch {
	case r.Provider != ProviderSpack && s != nil:
		c.fault("spack", "goes with provider: spack")
		return
	case r.Provider == ProviderSpack && s == nil:
		c.fault("provider", "spack: is needed, at least with version: (0.22 … 1.x)")
		return
	case s == nil:
		return
	}
	c.match("spack.version", s.Version, spackVersionRE, "a version of Spack, 0.22 to 1.x")
	c.optional("spack.git", s.Git, gitRE, "a git URL")
	c.optional("spack.ref", s.Ref, gitRefRE, "a tag or branch")
	c.optional("spack.target", s.Target, targetRE, "a target by archspec's names, as in x86_64_v3, zen4, neoverse_v2")
	c.optional("spack.compiler", s.Compiler, compilerRE, "a compiler as in gcc@14.2.0")
	for i, spec := range s.Specs {
		c.match(fmt.Sprintf("spack.specs[%d]", i), spec, specRE, "a spec")
	}
	for _, name := range sortedKeys(s.Variants) {
		if !slices.Contains(StackNames(), name) {
			c.fault("spack.variants."+name, "not in the catalogue: %s", strings.Join(StackNames(), ", "))
		}
		c.match("spack.variants."+name, s.Variants[name], variantsRE, "variants as in +cuda fabrics=ofi")
	}
	c.spackPlaces(s)
}

func (c *checker) spackPlaces(s *Spack) {
	names := map[string]bool{}
	for i, repo := range s.Repos {
		at := fmt.Sprintf("spack.repos[%d]", i)
		c.path(at, repo, false)
		if names[path.Base(repo)] {
			c.fault(at, "a second repository called \"%s\"", clip(path.Base(repo)))
		}
		names[path.Base(repo)] = true
	}
	for _, spec := range sortedKeys(s.External) {
		c.match("spack.external."+spec, spec, externalRE, "a package with its version, as in gmake@4.3")
		c.path("spack.external."+spec, s.External[spec], true)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Mirrors)) {
		c.match("spack.mirrors."+name, name, mirrorNameRE, "a mirror's name")
		c.match("spack.mirrors."+name, s.Mirrors[name], spackMirrorRE, "a mirror's URL (https, file, s3, oci)")
		if name == "site" {
			c.fault("spack.mirrors.site", "site is what --mirror is called")
		}
	}
}

func (c *checker) optional(field, value string, re *regexp.Regexp, what string) {
	if value != "" {
		c.match(field, value, re, what)
	}
}

// faults checks what the build host brings.
func (s Site) faults(r Recipe) Faults {
	c := &checker{}
	if (s.SpackRoot != "" || s.Mirror != "") && r.Provider != ProviderSpack {
		c.fault("", "--spack-root and --mirror go with provider: spack")
		return c.faults
	}
	if s.SpackRoot != "" {
		c.path("--spack-root", s.SpackRoot, true)
	}
	if strings.HasPrefix(s.Mirror, "/") {
		c.path("--mirror", s.Mirror, true)
	} else {
		c.optional("--mirror", s.Mirror, spackMirrorRE, "an absolute path or a mirror's URL")
	}
	return c.faults
}
