package attrib

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"
)

// mostLine is the longest line that is looked at; the rest of it is skipped.
const mostLine = 64 << 10

// Extract reads one launch's text, standard output or error, under the name
// that evidence shall bear. Lines may bear the prefixes of srun --label and
// mpirun --tag-output. Lines of other programs are passed over.
func Extract(r io.Reader, name string) (Facts, error) {
	e := newExtractor()
	in := bufio.NewReaderSize(r, mostLine)
	for n := 1; ; n++ {
		text, err := in.ReadSlice('\n')
		e.line(Source{name, n, strings.TrimSpace(string(text))})
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return e.facts(), nil
		}
		if err != nil {
			return e.facts(), err
		}
	}
}

// extractor gathers facts over the lines of all ranks.
type extractor struct {
	sets   map[string]*set
	ranks  []rankFacts
	tables map[string]*protoTable // UCX's open table of each process
}

func newExtractor() *extractor {
	return &extractor{sets: map[string]*set{}, tables: map[string]*protoTable{}}
}

func (e *extractor) add(key, value string, src Source) {
	if e.sets[key] == nil {
		e.sets[key] = &set{}
	}
	if len(e.sets[key].values) < 16 { // more is noise, or an attack on memory
		e.sets[key].add(value, src)
	}
}

// pattern is a line that gives a fact by its first group.
type pattern struct {
	key  string
	hint string // plain text that the line holds, for speed
	re   *regexp.Regexp
	say  string // the value, when it is not the first group
}

// patterns are lines whose meaning does not depend on others. Texts were
// captured from Open MPI 5.0.7, UCX 1.18.1 and NCCL 2.28.9; those marked with
// a source are from there.
var patterns = []pattern{
	{PML, "select: component", regexp.MustCompile(`\] select: component (\w+) selected`), ""},
	{MTL, "(  mtl) Selected", regexp.MustCompile(`\(  mtl\) Selected component \[(\w+)\]`), ""},
	{copyChosen, "single-copy component", regexp.MustCompile(`selected shared-memory single-copy component: (\w+)`), ""},
	{copyRefused, "in difference namespaces", regexp.MustCompile(`smsc_cma_module_get_endpoint: can not proceed`), "none: the ranks are in different user namespaces"},
	// ompi/opal/mca/btl/vader/help-btl-vader.txt of 4.1
	{copyRefused, "Linux kernel CMA support was requested", regexp.MustCompile(`Linux kernel CMA support was requested`), "none: the kernel refuses CMA"},
	{tcpInterface, "btl:tcp:", regexp.MustCompile(`btl:tcp: \S+ if (\S+) kidx `), ""},
	// opal/mca/common/ofi, ompi/mca/mtl/ofi/mtl_ofi_component.c
	{Provider, "mtl:ofi:", regexp.MustCompile(`mtl:ofi:prov(?:ider)?: (\S+)`), ""},
	{UCXVersion, "UCX  INFO  Version", regexp.MustCompile(`UCX  INFO  Version (\S+)`), ""},
	{posixRefused, "mm_posix.c", regexp.MustCompile(`open\(file_name=/proc/\d+/fd/\d+ .*Permission denied`), "refused between user namespaces"},
	{NCCLVersion, "NCCL version", regexp.MustCompile(`NCCL version (\S+)`), ""},
	{NCCLNet, "Using network", regexp.MustCompile(`NCCL INFO Using network (.+)$`), ""},
	{ncclVia, "NCCL INFO Channel", regexp.MustCompile(`NCCL INFO Channel .* via (\S+)`), ""},
	{NCCLChannels, "coll channels", regexp.MustCompile(`NCCL INFO (\d+ coll channels)`), ""},
	{NCCLEnv, "set by environment", regexp.MustCompile(`NCCL INFO (NCCL_\w+ set by environment to [^.]*)`), ""},
	{Build, `"optimized":`, regexp.MustCompile(`"type":"env".*"optimized":true`), "optimized"},
	{Build, `"optimized":`, regexp.MustCompile(`"type":"env".*"optimized":false`), "not optimized (-O0)"},
	{DebugMPI, "option:debug:", regexp.MustCompile(`(?:^|\s)option:debug:yes$`), "debug build"},
	{DebugMPI, "option:debug:", regexp.MustCompile(`(?:^|\s)option:debug:no$`), "release build"},
}

// Keys that facts are made of, and that are no facts by themselves.
const (
	copyChosen   = "\x00copy chosen"
	copyRefused  = "\x00copy refused"
	tcpInterface = "\x00tcp interface"
	posixRefused = "\x00posix refused"
	ncclVia      = "\x00nccl via"
)

func (e *extractor) line(src Source) {
	for _, p := range patterns {
		if !strings.Contains(src.Text, p.hint) {
			continue
		}
		if m := p.re.FindStringSubmatch(src.Text); m != nil {
			value := p.say
			if value == "" {
				value = strings.TrimSpace(m[1])
			}
			e.add(p.key, value, src)
		}
	}
	e.btl(src)
	e.ucx(src)
	e.rank(src)
}

// btlLine is written by bml/r2 for each peer (ompi/mca/bml/r2/bml_r2.c).
var btlLine = regexp.MustCompile(`\[([^\]:]+):\d+\] mca: bml: Using (\w+) btl for send to \S+ on node (\S+)`)

func (e *extractor) btl(src Source) {
	m := btlLine.FindStringSubmatch(src.Text)
	if m == nil || m[2] == "self" {
		return
	}
	if short(m[1]) == short(m[3]) {
		e.add(SameNode, m[2], src)
		return
	}
	e.add(OtherNode, m[2], src)
}

// short is a node's name without its domain.
func short(node string) string {
	node, _, _ = strings.Cut(node, ".")
	return node
}

// facts turns what was gathered into the table.
func (e *extractor) facts() Facts {
	out := Facts{}
	for k, s := range e.sets {
		if !strings.HasPrefix(k, "\x00") {
			out[k] = Fact{s.String(), s.first}
		}
	}
	e.copies(out)
	e.nccl(out)
	e.places(out)
	if s := e.sets[tcpInterface]; s != nil && (out[SameNode].Value == "tcp" || strings.Contains(out[OtherNode].Value, "tcp")) {
		out[Interface] = Fact{s.String(), s.first}
	}
	if f, ok := out[UCXOther]; ok {
		out[Interface] = Fact{devices(f.Value), f.Source}
	}
	return out
}

// copies decides which single-copy way is in use: Open MPI says what it chose
// at start, and then, peer by peer, that it cannot be used.
func (e *extractor) copies(out Facts) {
	chosen, refused := e.sets[copyChosen], e.sets[copyRefused]
	same, viaUCX := out[SameNode], out[UCXSame]
	switch {
	case viaUCX.Value != "":
		out[SingleCopy] = Fact{ucxCopy(viaUCX.Value, e.sets[posixRefused] != nil), viaUCX.Source}
	case refused != nil:
		out[SingleCopy] = Fact{refused.String(), refused.first}
	case same.Value == "tcp":
		out[SingleCopy] = Fact{"none: tcp", same.Source}
	case chosen != nil && same.Value != "":
		out[SingleCopy] = Fact{chosen.String(), chosen.first}
	}
}

func (e *extractor) nccl(out Facts) {
	s := e.sets[ncclVia]
	if s == nil {
		return
	}
	kinds := &set{}
	gdr, net := false, false
	for v := range s.values {
		parts := strings.Split(v, "/")
		kind := parts[0]
		if kind == "NET" && len(parts) > 1 {
			kind, net = kind+"/"+parts[1], true
		}
		gdr = gdr || strings.Contains(v, "GDRDMA")
		kinds.add(kind, s.first)
	}
	out[NCCLPeers] = Fact{kinds.String(), s.first}
	if net {
		out[NCCLGDR] = Fact{map[bool]string{true: "used", false: "not used"}[gdr], s.first}
	}
}
