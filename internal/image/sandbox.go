package image

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// meta is where an image describes itself, below its root.
const meta = ".singularity.d"

// sandbox reads a folder that `apptainer build --sandbox` made.
func (i *Image) sandbox(path string) error {
	root, err := os.OpenRoot(path) // no link of the image leads out of it
	if err != nil {
		return fail.New(fail.Failed, "", "%w", err)
	}
	defer root.Close()
	if _, err := root.Stat(meta); err != nil {
		return fail.Usagef("apptainer build --sandbox "+path+" DEFINITION makes one", "%s: a folder, but no sandbox image: it has no %s", path, meta)
	}
	i.Kind, i.Filesystem = KindSandbox, KindSandbox
	labels := ""
	for name, into := range map[string]*string{"Singularity": &i.Definition, "runscript": &i.Runscript, "test": &i.Test, "labels.json": &labels} {
		if *into, err = readSmall(root, meta+"/"+name); err != nil {
			return fail.New(fail.Failed, "", "%s: %w", path, err)
		}
	}
	if labels == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(labels), &i.Labels); err != nil {
		return fail.Usagef("", "%s/%s/labels.json: %w", path, meta, err)
	}
	return nil
}

// readSmall gives "" for a file that is not there.
func readSmall(root *os.Root, name string) (string, error) {
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxObject))
	return string(b), err
}
