// Package image makes images and reads them.
//
//	Definition ─→ Build ─→ (apptainer build) ─→ IMG.sif, IMG.sif.log
//	IMG.sif | sandbox folder ─→ Open ─→ Image
//
// Reading needs no Apptainer: what `apptainer inspect` tells lies in a JSON
// object of the SIF file (inspect-metadata.json, written since Apptainer 1.0
// and Singularity 3.6), or in a sandbox's .singularity.d.
package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// Schema of an Image in JSON.
const Schema = "nearmetal/image/v1"

// Kinds of image.
const (
	KindSIF     = "sif"
	KindSandbox = "sandbox"
)

// Image is what a container image says about itself. What an image does not
// say is empty, never guessed.
type Image struct {
	Schema     string            `json:"schema"`
	Path       string            `json:"path"`
	Kind       string            `json:"kind"`
	Size       int64             `json:"size"`              // bytes; of a sandbox 0: not counted
	UUID       string            `json:"uuid,omitempty"`    // of a SIF, new for each build
	Digest     string            `json:"digest,omitempty"`  // sha256:<hex> of the file, when Sum was asked
	Arch       string            `json:"arch,omitempty"`    // as Go names it: amd64, arm64
	Created    *time.Time        `json:"created,omitempty"` // UTC
	Recipe     string            `json:"recipe,omitempty"`  // digest of the recipe
	Stack      []Software        `json:"stack,omitempty"`   // MPI first; nil when the image does not say
	Probe      string            `json:"probe,omitempty"`   // path of the MPI probe inside
	Signatures int               `json:"signatures"`        // present, not verified
	Encrypted  bool              `json:"encrypted"`         //
	Filesystem string            `json:"filesystem"`        // of the root partition
	Labels     map[string]string `json:"labels,omitempty"`  //
	Objects    []Object          `json:"objects,omitempty"` // of a SIF
	Definition string            `json:"definition"`        //
	Runscript  string            `json:"runscript,omitempty"`
	Test       string            `json:"test,omitempty"`
}

// Software is one piece of the stack as it was installed.
type Software struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Object is one data object of a SIF file.
type Object struct {
	ID   uint32 `json:"id"`
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	Size int64  `json:"size"`
}

// Version gives the installed version of a piece of the stack, "" when the
// image does not say.
func (i Image) Version(name string) string {
	for _, s := range i.Stack {
		if s.Name == name {
			return s.Version
		}
	}
	return ""
}

// Open reads an image: a SIF file or a sandbox folder. It does not read the
// whole file.
func Open(path string) (Image, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Image{}, fail.Missingf("build it first: nearmetal build RECIPE -o "+path, "%s: no such image", path)
	case err != nil:
		return Image{}, fail.New(fail.Failed, "", "%w", err)
	}
	img := Image{Schema: Schema, Path: path}
	switch {
	case info.IsDir():
		err = img.sandbox(path)
	case info.Mode().IsRegular():
		err = img.sif(path, info.Size())
	default:
		err = fail.Usagef("", "%s: neither a file nor a folder", path)
	}
	if err != nil {
		return Image{}, err
	}
	img.fromLabels()
	return img, nil
}

// fromLabels fills in what only labels tell.
func (i *Image) fromLabels() {
	i.Recipe = i.Labels[defs.LabelRecipe]
	i.Probe = i.Labels[defs.LabelProbe]
	i.Stack = stack(i.Labels)
	if i.Arch == "" {
		i.Arch = i.Labels["org.opencontainers.image.architecture"]
	}
	if i.Arch == "" {
		i.Arch = i.Labels["org.label-schema.build-arch"]
	}
	if i.Created == nil {
		if t, err := time.Parse(time.RFC3339, i.Labels["org.opencontainers.image.created"]); err == nil {
			t = t.UTC()
			i.Created = &t
		}
	}
}

func stack(labels map[string]string) []Software {
	var out []Software
	for _, name := range defs.StackNames() {
		if v, ok := labels[defs.LabelStack+name]; ok {
			out = append(out, Software{name, strings.TrimSpace(v)})
		}
	}
	return out
}

// Sum reads the whole file and gives sha256:<hex>.
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fail.New(fail.Failed, "", "%w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fail.New(fail.Failed, "", "%w", err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
