// Package probe carries the C source of nearmetal's MPI probe, so that a
// recipe can have it compiled inside the image with the image's own MPI.
package probe

import (
	"embed"
	"io/fs"
)

//go:embed src/*.c src/*.h
var src embed.FS

// Build is the compiler line that probe.h documents, without the compiler's
// name, the output and the sources.
const Build = "-O2"

// Libs follow the sources on the compiler line.
const Libs = "-ldl"

// Source is one file of the probe.
type Source struct {
	Name string // without a folder
	Text string
}

// Sources gives the files in the order of their names.
func Sources() []Source {
	entries, err := fs.ReadDir(src, "src")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	var out []Source
	for _, e := range entries {
		text, err := fs.ReadFile(src, "src/"+e.Name())
		if err != nil {
			panic(err)
		}
		out = append(out, Source{e.Name(), string(text)})
	}
	return out
}
