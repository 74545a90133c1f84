package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/image"
)

// What lies in NAME.lock. lock.json is written last and has the sums of the
// others: a folder that was half written is refused by name.
const (
	lockJSON  = "lock.json"
	spackYAML = "spack.yaml"
	spackLock = "spack.lock"
	lockedDef = "image.def"
)

const lockSchema = "nearmetal/lock/v1"

// lockfile is lock.json.
type lockfile struct {
	Schema   string            `json:"schema"`
	Recipe   string            `json:"recipe"`             // its digest
	Base     string            `json:"base,omitempty"`     // digest of the base; "" when it has none
	Spack    string            `json:"spack,omitempty"`    // version that concretized
	Packages []string          `json:"packages,omitempty"` // "name version" of what the image carries
	Files    map[string]string `json:"files"`              // name → sha256:<hex>
}

func newLockfile(r defs.Recipe) lockfile {
	return lockfile{Schema: lockSchema, Recipe: r.Digest(), Files: map[string]string{}}
}

// lockName is the folder's name beside a recipe.
func lockName(recipe string) string {
	name := filepath.Base(recipe)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".yml"), ".yaml") + ".lock"
}

func sumText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// forRecipe is what rendering wants of the lock.
func (k lockfile) forRecipe(folder, sum string) *defs.Lock {
	l := &defs.Lock{Base: k.Base}
	if k.Spack != "" {
		l.Path, l.SHA256 = folder+"/"+spackLock, sum
	}
	return l
}

func (k lockfile) summary() string {
	var out []string
	if k.Base != "" {
		out = append(out, "base "+short(k.Base))
	}
	if k.Spack != "" {
		out = append(out, fmt.Sprintf("%d packages by Spack %s", len(k.Packages), k.Spack))
	}
	return strings.Join(append(out, "the definition"), ", ")
}

// write puts the files into the folder, lock.json at last.
func (k lockfile) write(at string, files map[string]string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fail.New(fail.Failed, writeHint(filepath.Dir(at), err), "%w", err)
	}
	for name, text := range files {
		k.Files[name] = "sha256:" + sumText(text)
		if err := writeFile(filepath.Join(at, name), []byte(text)); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(at, lockJSON), append(text, '\n'))
}

// readLockfile reads the lock beside a recipe and checks it against itself and
// the recipe; nil when there is none. The second value is the locked definition.
func readLockfile(arg, dir string, r defs.Recipe) (*lockfile, string, error) {
	at := filepath.Join(dir, lockName(arg))
	text, err := os.ReadFile(filepath.Join(at, lockJSON))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	again := "nearmetal lock " + shellescape.Quote(arg) + ", or without the lock: rm -r " + shellescape.Quote(at)
	if err != nil {
		return nil, "", fail.New(fail.Failed, again, "the lock cannot be read: %w", err)
	}
	var k lockfile
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&k); err != nil || k.Schema != lockSchema {
		return nil, "", fail.Usagef(again, "%s is no lock of this nearmetal (%s): %v", filepath.Join(at, lockJSON), lockSchema, err)
	}
	if k.Recipe != r.Digest() {
		return nil, "", fail.Usagef(again, "%s was changed after it was locked", arg)
	}
	def, err := k.check(at, again)
	return &k, def, err
}

// check compares the folder's files with the sums and gives the definition.
func (k lockfile) check(at, again string) (string, error) {
	def := ""
	for _, name := range []string{lockedDef, spackYAML, spackLock} {
		want, ok := k.Files[name]
		if !ok && (name == lockedDef || k.Spack != "") {
			return "", fail.Usagef(again, "%s does not name %s", filepath.Join(at, lockJSON), name)
		}
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(at, name))
		if err != nil {
			return "", fail.Usagef(again, "the lock is not whole: %w", err)
		}
		if "sha256:"+sumText(string(text)) != want {
			return "", fail.Usagef(again, "%s was changed after it was locked", filepath.Join(at, name))
		}
		if name == lockedDef {
			def = string(text)
		}
	}
	return def, nil
}

var errFolder = errors.New("a folder has no digest")

// localBaseSum is the digest of a localimage that is a file.
func localBaseSum(b defs.Base, dir string) (string, error) {
	p := b.Path
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	info, err := os.Stat(p)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errFolder
	}
	return image.Sum(p)
}

// sameBase refuses a locked recipe whose base image is another file now.
func (k lockfile) sameBase(b defs.Base, dir string) error {
	if b.From != "localimage" || k.Base == "" {
		return nil
	}
	sum, err := localBaseSum(b, dir)
	if err != nil && !errors.Is(err, errFolder) {
		return nil // Apptainer will say that it is not there
	}
	if sum != k.Base {
		return fail.Usagef("nearmetal lock RECIPE", "the base %s is not the one that was locked (%s)", b.Path, short(k.Base))
	}
	return nil
}
