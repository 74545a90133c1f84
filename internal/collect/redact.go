package collect

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

// Redactor replaces names and addresses by numbered ones, the same each time,
// so that nodes can still be told apart and compared.
type Redactor struct {
	names map[string]string // what is known to be a name → its replacement
	order []string          // longest first
	seen  map[string]string
	count map[string]int
}

// NewRedactor knows nodes, users and host names.
func NewRedactor(nodes, users []string) *Redactor {
	r := &Redactor{names: map[string]string{}, seen: map[string]string{}, count: map[string]int{}}
	add := func(kind string, list []string) {
		for _, n := range list {
			if len(n) > 1 && r.names[n] == "" && n != "root" && n != "localhost" {
				r.names[n] = r.number(kind)
				r.order = append(r.order, n)
			}
		}
	}
	add("node", nodes)
	add("user", users)
	slices.SortStableFunc(r.order, func(a, b string) int { return len(b) - len(a) })
	return r
}

func (r *Redactor) number(kind string) string {
	r.count[kind]++
	return fmt.Sprintf("%s%d", kind, r.count[kind])
}

var (
	addresses4 = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	addresses6 = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{0,4}\b|\b(?:[0-9a-f]{1,4}:){1,6}:(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?`)
	homes      = regexp.MustCompile(`(/(?:home|users?|u|scratch|work|project|lustre)/)([A-Za-z0-9._-]+)`)
	mails      = regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b`)
	tokens     = regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|sk-[A-Za-z0-9_-]{20,}|xox[baprs]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|MUNGE:[A-Za-z0-9+/=]+:?)`)
	secrets    = regexp.MustCompile(`(?i)((?:token|password|passwd|secret|api_?key|access_?key|credential|authorization)["']?\s*[=:]\s*["']?)((?:bearer\s+)?[^\s"',;]+)`)
	domains    = regexp.MustCompile(`\b[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.(?:edu|gov|mil|com|org|net|de|fr|uk|ch|it|es|nl|se|fi|no|jp|cn|local|cluster|internal|lan)\b`)
)

// Text replaces in free text.
func (r *Redactor) Text(s string) string {
	s = tokens.ReplaceAllString(s, "<token>")
	s = secrets.ReplaceAllString(s, "$1<secret>")
	s = mails.ReplaceAllString(s, "<mail>")
	s = addresses4.ReplaceAllStringFunc(s, r.address)
	s = addresses6.ReplaceAllStringFunc(s, r.address)
	s = homes.ReplaceAllStringFunc(s, r.home)
	s = r.known(s)
	return domains.ReplaceAllStringFunc(s, func(d string) string { return r.stand("host", d) })
}

func (r *Redactor) stand(kind, s string) string {
	if r.seen[s] == "" {
		r.seen[s] = r.number(kind)
	}
	return r.seen[s]
}

// address keeps loopback, link-local and docker's well-known address: they say
// what is wrong and not where.
func (r *Redactor) address(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil || a.IsLoopback() || a.IsUnspecified() || s == "172.17.0.1" {
		return s
	}
	if r.seen[s] == "" {
		r.count["address"]++
		n := r.count["address"]
		if a.Is4() {
			r.seen[s] = fmt.Sprintf("198.18.%d.%d", n/250%256, n%250+1) // benchmarking range, RFC 2544
		} else {
			r.seen[s] = fmt.Sprintf("2001:db8::%x", n) // documentation range, RFC 3849
		}
	}
	return r.seen[s]
}

func (r *Redactor) home(s string) string {
	m := homes.FindStringSubmatch(s)
	if n := r.names[m[2]]; n != "" {
		return m[1] + n
	}
	return m[1] + r.stand("user", m[2])
}

// known replaces whole words that are names.
func (r *Redactor) known(s string) string {
	for _, name := range r.order {
		if strings.Contains(s, name) {
			s = replaceWord(s, name, r.names[name])
		}
	}
	return s
}

func replaceWord(s, word, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, word)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(word)
		b.WriteString(s[:i])
		if (i > 0 && wordByte(s[i-1])) || (end < len(s) && wordByte(s[end])) {
			b.WriteString(word)
		} else {
			b.WriteString(by)
		}
		s = s[end:]
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Facts replaces in every text of the facts, through their JSON form: a field
// that is added later is covered too.
func (r *Redactor) Facts(facts []site.Facts) ([]site.Facts, error) {
	b, err := json.Marshal(facts)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	if b, err = json.Marshal(r.value("", v)); err != nil {
		return nil, err
	}
	var out []site.Facts
	err = json.Unmarshal(b, &out)
	return out, err
}

// plain are fields whose text is a time, a version or a word of the kernel's.
var plain = []string{"time", "state", "link_layer", "phys", "type", "kernel"}

func (r *Redactor) value(key string, v any) any {
	switch x := v.(type) {
	case string:
		if key == "gids" {
			return r.gid(x)
		}
		if slices.Contains(plain, key) {
			return r.known(x)
		}
		return r.Text(x)
	case []any:
		for i := range x {
			x[i] = r.value(key, x[i])
		}
	case map[string]any:
		for k := range x {
			name := k
			if k == "value" {
				name = key
			}
			x[k] = r.value(name, x[k])
		}
	}
	return v
}

// gid keeps index and prefix and hides the interface's identity.
func (r *Redactor) gid(s string) string {
	index, gid, _ := strings.Cut(s, " ")
	parts := strings.Split(gid, ":")
	if len(parts) != 8 {
		return r.Text(s)
	}
	if strings.HasSuffix(strings.Join(parts[:6], ":"), "0000:ffff") {
		return index + " 0000:0000:0000:0000:0000:ffff:" + r.stand("v4gid", gid)
	}
	return index + " " + parts[0] + ":" + r.stand("gid", gid)
}
