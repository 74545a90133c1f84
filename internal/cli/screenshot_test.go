//go:build browser

package cli

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/report"
)

// mostPicture keeps the repository small.
const mostPicture = 200_000

// TestScreenshot makes the README's pictures from a real run:
//
//	REPORT_RUN=DIR go test -tags browser -count=1 -run TestScreenshot ./internal/cli
func TestScreenshot(t *testing.T) {
	run := os.Getenv("REPORT_RUN")
	if run == "" {
		t.Skip("needs REPORT_RUN=DIR, a run directory that nearmetal bench has filled")
	}
	r, err := loadReport(CompareOptions{Runs: []string{run}, Margin: compare.DefaultMargin, Confidence: compare.DefaultConfidence})
	if err != nil {
		t.Fatal(err)
	}
	var html, term bytes.Buffer
	if err := r.HTML(&html); err != nil {
		t.Fatal(err)
	}
	if err := r.Term(&term, report.Style{Color: true, Width: 80}); err != nil {
		t.Fatal(err)
	}
	picture(t, "report.png", html.String(), 1200, 1372)
	picture(t, "terminal.png", terminal(t, term.String()), 800, 0)
}

// picture saves the top of a page below docs/img; height 0 is all of it.
func picture(t *testing.T, name, html string, width, height float64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, stop = chromedp.NewContext(ctx)
	defer stop()
	ctx, stop = context.WithTimeout(ctx, time.Minute)
	defer stop()
	var shot []byte
	err := chromedp.Run(ctx, chromedp.EmulateViewport(int64(width), 900), chromedp.Navigate("file://"+file),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			if height == 0 {
				if err := chromedp.Evaluate(`document.body.getBoundingClientRect().bottom`, &height).Do(ctx); err != nil {
					return err
				}
			}
			shot, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: width, Height: height, Scale: 1}).Do(ctx)
			return err
		}))
	if err != nil {
		t.Fatalf("chromium: %v (Debian: apt-get install chromium fonts-dejavu-core)", err)
	}
	if shot, err = indexed(shot); err != nil {
		t.Fatal(err)
	}
	if len(shot) > mostPicture {
		t.Errorf("%s has %d bytes, more than %d", name, len(shot), mostPicture)
	}
	dir := filepath.Join("..", "..", "docs", "img")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), shot, 0o644); err != nil {
		t.Fatal(err)
	}
}

// indexed writes a picture with the 256 colours that it has most of, the others
// as the nearest of those: half the size, and nobody sees it.
func indexed(text []byte) ([]byte, error) {
	src, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	b := src.Bounds()
	count := map[color.Color]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(src.At(x, y))]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(p, q color.Color) int { return cmp.Compare(count[q], count[p]) })
	dst := image.NewPaletted(b, most[:min(len(most), 256)])
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			dst.Set(x, y, src.At(x, y))
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, dst)
	return out.Bytes(), err
}

// pictureLines is how much of the terminal view is shown: the answer and the
// first table.
const pictureLines = 34

var terminalPage = template.Must(template.New("").Parse(`<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; background: #14181b; } pre { margin: 0; padding: 22px 26px; color: #dfe3e6; font: 15px/1.4 "DejaVu Sans Mono", monospace; }
.s1 { font-weight: bold; } .s2 { opacity: .66; } .s31 { color: #ff8f86; } .s32 { color: #55c98c; } .s33 { color: #d9c667; } .s34 { color: #80b8ff; }
</style><pre>{{range .}}<span class="{{.Class}}">{{.Text}}</span>{{end}}</pre>`))

// span is text between two SGR sequences (ECMA-48, 8.3.117).
type span struct{ Class, Text string }

// terminal shows coloured terminal output as a page.
func terminal(t *testing.T, out string) string {
	t.Helper()
	lines := strings.Split(out, "\n")
	if len(lines) > pictureLines {
		lines = append(lines[:pictureLines], "  …")
	}
	text := strings.Join(lines, "\n")
	sgr := regexp.MustCompile(`\x1b\[([\d;]*)m`)
	var spans []span
	class, last := "", 0
	for _, m := range sgr.FindAllStringSubmatchIndex(text, -1) {
		spans = append(spans, span{class, text[last:m[0]]})
		class, last = "", m[1]
		for _, code := range strings.Split(text[m[2]:m[3]], ";") {
			class += " s" + code
		}
	}
	spans = append(spans, span{class, text[last:]})
	var page strings.Builder
	if err := terminalPage.Execute(&page, spans); err != nil {
		t.Fatal(err)
	}
	return page.String()
}
