package check_test

import (
	"bytes"
	"github.com/nearmetal/nearmetal/internal/check"
	"io"
	"os"
	"testing"
)

// BenchmarkScan reads 64 MiB of NCCL debug log made of a real one.
func BenchmarkScan(b *testing.B) {
	f, err := os.Open("testdata/healthy/nccl-nccl-debug-info-2xH200.txt")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		b.Fatal(err)
	}
	text = bytes.Repeat(text, 64<<20/len(text))
	d, err := check.New(check.All())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := d.Scan(bytes.NewReader(text), "log"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := check.New(check.All()); err != nil {
			b.Fatal(err)
		}
	}
}
