package defs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Load reads a recipe and the digests of the files it copies, so that a
// changed file makes another definition and another digest. The file system is
// the folder the recipe lies in.
func Load(fsys fs.FS, name string) (Recipe, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return Recipe{}, err
	}
	defer f.Close()
	r, err := Decode(f)
	if err != nil {
		return Recipe{}, err
	}
	return r, r.sumFiles(fsys)
}

// sumFiles fills in or compares the digest of each file.
func (r *Recipe) sumFiles(fsys fs.FS) error {
	c := &checker{lines: r.lines}
	for i := range r.Files {
		f, at := &r.Files[i], fmt.Sprintf("files[%d]", i)
		sum, err := Sum(fsys, strings.TrimSuffix(f.From, "/"))
		switch {
		case err != nil:
			c.fault(at+".from", "%s", reason(err))
		case f.SHA256 != "" && f.SHA256 != sum:
			c.fault(at+".sha256", "%s has the digest %s", clip(f.From), sum)
		}
		f.SHA256 = sum
	}
	return c.faults.asError()
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Sprintf("%s: %v", clip(p.Path), p.Err)
	}
	return err.Error()
}

// Sum is the SHA-256, in hexadecimal, of a file's content; of a folder, that of
// the lines "<sum>  <mode bits> <path>" of its files in the order of their paths.
func Sum(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return sumFile(fsys, name)
	}
	h := sha256.New()
	err = fs.WalkDir(fsys, name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return sumEntry(h, fsys, name, p)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// sumEntry follows a link, as `cp -L` in Apptainer does; a link to a folder
// counts by its name only.
func sumEntry(h io.Writer, fsys fs.FS, root, p string) error {
	info, err := fs.Stat(fsys, p)
	if err != nil {
		return err
	}
	sum := "folder"
	if !info.IsDir() {
		if sum, err = sumFile(fsys, p); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(h, "%s  %o %s\n", sum, info.Mode().Perm()&0o111, strings.TrimPrefix(path.Clean(p), root))
	return err
}

func sumFile(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // before opening: a pipe would wait for ever
		return "", &fs.PathError{Op: "open", Path: name, Err: errors.New("neither a file nor a folder")}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ParseBase reads what --base takes: docker:REF[@sha256:…], localimage:PATH or
// debootstrap:SUITE@MIRROR. The distribution stays the old base's where the
// new one does not tell.
func ParseBase(s string, old Base) (Base, error) {
	from, rest, ok := strings.Cut(s, ":")
	b := Base{From: from, Distro: old.distro()}
	switch {
	case ok && from == "docker":
		b.Ref, b.Digest, _ = strings.Cut(rest, "@")
		if own := (Base{From: from, Ref: b.Ref}); own.family() != "" {
			b.Distro = ""
		}
	case ok && from == "localimage":
		b.Path = rest
	case ok && from == "debootstrap":
		b.Suite, b.Mirror, _ = strings.Cut(rest, "@")
	default:
		return old, fmt.Errorf("base \"%s\" is not docker:REF, localimage:PATH or debootstrap:SUITE@MIRROR", clip(s))
	}
	c := &checker{}
	c.base(b)
	return b, c.faults.asError()
}
