package defs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed recipes/*.yaml
var recipes embed.FS

// Example is a recipe that comes with nearmetal.
type Example struct {
	Name string // without .yaml
	Text string
}

// Examples gives them in the order of their names.
func Examples() []Example {
	entries, err := fs.ReadDir(recipes, "recipes")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	var out []Example
	for _, e := range entries {
		text, err := fs.ReadFile(recipes, "recipes/"+e.Name())
		if err != nil {
			panic(err)
		}
		out = append(out, Example{strings.TrimSuffix(e.Name(), ".yaml"), string(text)})
	}
	return out
}

// FindExample gives the example of that name.
func FindExample(name string) (Example, bool) {
	for _, e := range Examples() {
		if e.Name == name {
			return e, true
		}
	}
	return Example{}, false
}
