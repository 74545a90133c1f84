package check

// Schema is the JSON document's name and version.
const Schema = "nearmetal/doctor/v1"

// Severity of a finding: only Warning and Error count as findings for the exit
// code; Info is harmless noise named as such.
type Severity string

// The severities, from harmless to fatal.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Role is who can apply a fix.
type Role string

// The roles.
const (
	User   Role = "user"
	Admin  Role = "admin"
	Author Role = "image author"
)

// Evidence is one place that shows the cause. For facts, File is the node and
// path or command ("node01:/proc/self/limits") and Line is 0.
type Evidence struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Fix is a command or configuration line for one role.
type Fix struct {
	Role    Role   `json:"role"`
	Command string `json:"command"`
}

// Finding is a cause with its evidence and fix.
type Finding struct {
	Code       string     `json:"code"`
	Key        string     `json:"key"`
	Severity   Severity   `json:"severity"`
	Title      string     `json:"title"`
	Cause      string     `json:"cause"`
	Confidence string     `json:"confidence"` // high, medium, low
	Evidence   []Evidence `json:"evidence"`
	Fix        []Fix      `json:"fix"`
	DependsOn  []string   `json:"depends_on"` // keys of the findings that this one follows from

	Score  int      `json:"-"` // 1 to 100
	Breaks string   `json:"-"` // what it breaks if left
	Apart  string   `json:"-"` // how to tell it from other causes of the same text
	Source string   `json:"-"` // link
	Nodes  []string `json:"-"` // sorted; empty when no node is named
}

// Document is what --json prints: findings best first.
type Document struct {
	Schema   string    `json:"schema"`
	Findings []Finding `json:"findings"`
}

// Alarm says whether any finding is more than harmless.
func Alarm(fs []Finding) bool {
	for _, f := range fs {
		if f.Severity != Info {
			return true
		}
	}
	return false
}
