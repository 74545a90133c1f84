package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// rootExample is the main job from end to end.
const rootExample = `  nearmetal build openmpi-debian -o app.sif
  nearmetal run --image app.sif -N 2 -n 4 -- ./my_app
  nearmetal bench mpi --image app.sif -N 2 -o run1
  nearmetal report run1 -o report.html`

// groups are the chapters of `nearmetal --help`, in the order of the main job.
// A verb that is in none stands at the end.
var groups = []struct {
	title string
	verbs []string
}{
	{"Make an image:", []string{"init", "def", "lock", "build", "inspect", "lint", "stage"}},
	{"Launch and measure:", []string{"run", "bench", "status", "fetch", "scan", "tune"}},
	{"Read the result:", []string{"compare", "report"}},
	{"Find out what is wrong:", []string{"doctor", "topo"}},
}

// addGroups puts each verb into its chapter; a chapter without verbs is left out.
func addGroups(root *cobra.Command) {
	cobra.EnableCommandSorting = false // the order of the job, not of the alphabet
	for _, g := range groups {
		for _, c := range root.Commands() {
			if !slices.Contains(g.verbs, c.Name()) {
				continue
			}
			if !root.ContainsGroup(g.title) {
				root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
			}
			c.GroupID = g.title
		}
	}
}

// setHelp gives all verbs one form of help, folded to the terminal.
func setHelp(root *cobra.Command, width int) {
	addGroups(root)
	root.SuggestionsMinimumDistance = 2
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "help about a verb"
			c.Run, c.RunE = nil, helpAbout(root)
		case "completion":
			c.Short = "completion of verbs and flags for bash, zsh, fish or powershell"
		}
	}
	root.SetUsageTemplate(usageTemplate(min(max(width, 60), 100)))
}

// usageTemplate is cobra's, with flags folded and examples before them.
func usageTemplate(width int) string {
	const text = `Usage:{{if and .Runnable .HasParent}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} VERB ...{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$cmds := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableSubCommands}}

{{if .Groups}}More{{else}}Verbs{{end}}:{{range $cmds}}{{if and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped %[1]d | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsagesWrapped %[1]d | trimTrailingWhitespaces}}{{end}}{{if and .HasAvailableSubCommands .Groups}}

{{.CommandPath}} VERB --help says more about one of them.{{end}}
`
	return fmt.Sprintf(text, width)
}

// helpAbout refuses what is no verb; cobra's own help exits with 0 there.
func helpAbout(root *cobra.Command) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		switch {
		case err != nil:
			return err
		case len(rest) > 0:
			return noVerb(c, rest)
		}
		return c.Help()
	}
}

// noVerb is the root's own check of its arguments: whatever is left is a verb
// that there is not.
func noVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + c.CommandPath() + " " + strings.Join(near, ", or "+c.CommandPath()+" ") + "?"
	}
	return fail.Usagef(hint, "there is no verb %q", args[0])
}

// between wants from lo to hi arguments and names them when they are not there.
func between(lo, hi int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= lo && len(args) <= hi {
			return nil
		}
		return fail.Usagef(c.CommandPath()+" --help", "%s takes %s, not %s", c.CommandPath(), names, count(len(args)))
	}
}

// exactly wants n arguments and names them when they are not there.
func exactly(n int, names string) cobra.PositionalArgs { return between(n, n, names) }

func count(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}
