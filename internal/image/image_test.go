package image

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

const tiny = "testdata/tiny.sif"

func TestOpenSIF(t *testing.T) {
	img, err := Open(tiny)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(tiny)
	if img.Kind != KindSIF || img.Arch != "amd64" || img.Size != info.Size() || len(img.UUID) != 36 || img.Filesystem != "Squashfs" {
		t.Errorf("%+v", img)
	}
	if img.Created == nil || img.Created.Format("2006-01-02") != "2026-11-30" {
		t.Errorf("created %v", img.Created)
	}
	if !strings.HasPrefix(img.Definition, "Bootstrap: localimage\n") || !strings.Contains(img.Runscript, "exec /bin/true") {
		t.Errorf("definition %q runscript %q", img.Definition, img.Runscript)
	}
	wantStack(t, img)
}

func wantStack(t *testing.T, img Image) {
	t.Helper()
	want := []Software{{"openmpi", "5.0.7"}, {"pmix", "5.0.7"}}
	if !reflect.DeepEqual(img.Stack, want) || img.Version("pmix") != "5.0.7" || img.Version("ucx") != "" {
		t.Errorf("stack %v", img.Stack)
	}
	if img.Recipe != "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" || img.Labels["org.opencontainers.image.title"] != "tiny" {
		t.Errorf("recipe %q labels %v", img.Recipe, img.Labels)
	}
}

func TestOpenSandbox(t *testing.T) {
	img, err := Open("testdata/box")
	if err != nil {
		t.Fatal(err)
	}
	if img.Kind != KindSandbox || img.Arch != "amd64" || !strings.HasPrefix(img.Definition, "Bootstrap: localimage\n") {
		t.Errorf("%+v", img)
	}
	wantStack(t, img)
}

// TestSandboxLinksStayInside: a foreign image's links must not make us read
// the host's files.
func TestSandboxLinksStayInside(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, meta), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, meta, "Singularity")); err != nil {
		t.Fatal(err)
	}
	if img, err := Open(dir); err == nil && img.Definition != "" {
		t.Errorf("read %q", img.Definition)
	}
}

func TestForeignFiles(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"empty":      {"", "not a SIF image"},
		"short":      {"#!/usr/bin/env run-singularity\n", "not a SIF image: only 31 bytes"},
		"elf":        {"\x7fELF" + strings.Repeat("x", 200), "a program"},
		"squashfs":   {"hsqs" + strings.Repeat("\x00", 200), "a bare squashfs file"},
		"definition": {"Bootstrap: docker\nFrom: debian\n" + strings.Repeat("#", 200), "a definition file"},
		"archive":    {"\x1f\x8b" + strings.Repeat("x", 200), "a compressed archive"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || fail.Code(err) != fail.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open("testdata/absent.sif"); fail.Code(err) != fail.Missing || fail.Hint(err) == "" {
		t.Errorf("absent: %v", err)
	}
	if _, err := Open(t.TempDir()); fail.Code(err) != fail.Usage {
		t.Errorf("folder: %v", err)
	}
}

// TestTruncated cuts the image at many places: each is an error.
func TestTruncated(t *testing.T) {
	whole, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + n/20 {
		var img Image
		if err := img.readSIF(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Errorf("%d of %d bytes read as an image", n, len(whole))
		}
	}
}

// TestHugeCounts: a header must not make us allocate what the file cannot hold.
func TestHugeCounts(t *testing.T) {
	whole, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{descTotalAt, descOffsetAt, descSizeAt} {
		for _, v := range []uint64{1 << 31, 1 << 62, 1<<64 - 1} {
			b := bytes.Clone(whole)
			binary.LittleEndian.PutUint64(b[at:], v)
			var img Image
			if err := img.readSIF(bytes.NewReader(b), int64(len(b))); err == nil && at != descSizeAt {
				t.Errorf("%d at byte %d is accepted", v, at)
			}
		}
	}
}

// FuzzSIF mangles the header and the table of objects of a real image.
func FuzzSIF(f *testing.F) {
	whole, err := os.ReadFile(tiny)
	if err != nil {
		f.Fatal(err)
	}
	const table = 4096
	f.Add(whole[:table], uint16(0), []byte{})
	f.Add(whole[:table], uint16(descTotalAt), []byte{255, 255, 255, 255, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, head []byte, at uint16, patch []byte) {
		b := append(bytes.Clone(head), whole[min(len(head), len(whole)):]...)
		copy(b[min(int(at), len(b)):], patch)
		var img Image
		if err := img.readSIF(bytes.NewReader(b), int64(len(b))); err == nil && img.Kind != KindSIF {
			t.Error("neither an image nor an error")
		}
	})
}
