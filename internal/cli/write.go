package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"al.essio.dev/pkg/shellescape"
	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// writeFile writes a whole file or nothing. The error names the file that was
// asked for, not the temporary one beside it.
func writeFile(path string, text []byte) error {
	err := renameio.WriteFile(path, text, 0o644)
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fail.New(fail.Failed, writeHint(filepath.Dir(path), err), "cannot write %s: %w", path, err)
}

func writeHint(dir string, err error) string {
	dir = shellescape.Quote(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "mkdir -p " + dir
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "df -h " + dir
	}
	return "ls -ld " + dir
}
