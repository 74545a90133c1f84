package check

// Short forms for the families' tables.

func user(command string) Fix   { return Fix{User, command} }
func admin(command string) Fix  { return Fix{Admin, command} }
func author(command string) Fix { return Fix{Author, command} }

// any in DependsOn stands for every finding that is a cause of its own.
const any = "*"

// on is a rule of lines that must all be there.
func on(score int, lines ...string) Rule {
	r := Rule{Score: score}
	for _, l := range lines {
		r.All = append(r.All, Line{Re: l})
	}
	return r
}

// with adds expressions that context or head of the log must match.
func (r Rule) with(need ...string) Rule { r.Need = append(r.Need, need...); return r }

// without adds expressions that context and head of the log must not match.
func (r Rule) without(none ...string) Rule { r.None = append(r.None, none...); return r }

// pattern is the line's expression as the scanner knows it: case does not count.
func (l Line) pattern() string { return "(?i)" + l.Re }
