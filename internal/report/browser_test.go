//go:build browser

package report

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// These tests need a Chromium (Debian: chromium, fonts-dejavu-core) and run
// with -tags browser. What they see is kept in bench-out/.

// tab is a browser tab that remembers what went wrong and what was loaded.
type tab struct {
	context.Context
	mu     sync.Mutex
	faults []string
	loads  []string
}

func newTab(t *testing.T) *tab {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(alloc)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	b := &tab{Context: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	b.run(t, log.Enable(), network.Enable())
	return b
}

func (b *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		t.Fatalf("chromium: %v (Debian: apt-get install chromium fonts-dejavu-core)", err)
	}
}

func (b *tab) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *log.EventEntryAdded:
		b.faults = append(b.faults, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, fmt.Sprint("console.", e.Type))
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Error())
	case *network.EventRequestWillBeSent:
		b.loads = append(b.loads, e.Request.URL)
	}
}

// open shows a page at a width in a colour scheme.
func (b *tab) open(t *testing.T, url string, width int64, scheme string) {
	t.Helper()
	b.run(t,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, 900),
		chromedp.Navigate(url),
	)
}

func serve(t *testing.T, html []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(html)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// keep saves a picture of the whole page for people.
func (b *tab) keep(t *testing.T, name string) {
	t.Helper()
	var png []byte
	b.run(t, chromedp.FullScreenshot(&png, 100))
	write(t, filepath.Join("..", "..", "bench-out", name), png)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestInChromium(t *testing.T) {
	url := serve(t, render(t, usual().report(), FormatHTML, Style{}))
	b := newTab(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			t.Run(fmt.Sprintf("%s-%d", scheme, width), func(t *testing.T) {
				b.open(t, url, width, scheme)
				b.keep(t, fmt.Sprintf("report-%s-%d.png", scheme, width))
				b.run(t, chromedp.Evaluate(openDetails, nil))
				for _, name := range []string{"overflow", "headings", "names", "contrast", "smallText", "clipped"} {
					var faults []string
					b.run(t, chromedp.Evaluate(audits+"\n"+name+"()", &faults))
					for _, f := range faults {
						t.Errorf("%s: %s", name, f)
					}
				}
				b.keep(t, fmt.Sprintf("report-%s-%d-open.png", scheme, width))
			})
		}
	}
	for _, f := range b.faults {
		t.Error("console: ", f)
	}
	for _, l := range b.loads {
		if l != url && !strings.HasPrefix(l, "data:") {
			t.Error("the page loads ", l)
		}
	}
}

// TestHostileTextInChromium: whatever the texts try, no script runs and the
// page keeps its parts.
func TestHostileTextInChromium(t *testing.T) {
	b := newTab(t)
	dialog := false
	chromedp.ListenTarget(b, func(ev any) {
		if _, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			dialog = true
		}
	})
	for _, text := range hostileTexts {
		b.open(t, serve(t, render(t, hostile(text), FormatHTML, Style{})), 390, "light")
		var scripts, sections int
		var faults []string
		b.run(t, chromedp.Evaluate(`document.querySelectorAll("script,img,b,iframe,[onerror],[onmouseover]").length`, &scripts),
			chromedp.Evaluate(`document.querySelectorAll("body > main > section").length`, &sections),
			chromedp.Evaluate(audits+"\noverflow()", &faults))
		if scripts != 0 || sections < 4 || len(faults) > 0 {
			t.Errorf("%.40q: %d foreign elements, %d sections, %v", text, scripts, sections, faults)
		}
	}
	if dialog || len(b.faults) > 0 {
		t.Errorf("dialog %v, console %q", dialog, b.faults)
	}
}

func TestKeyboardReachesEverything(t *testing.T) {
	b := newTab(t)
	b.open(t, serve(t, render(t, small().report(), FormatHTML, Style{})), 1280, "light")
	var seen []string
	for range 60 {
		var at struct{ Tag, Outline string }
		b.run(t, chromedp.KeyEvent("\t"), chromedp.Evaluate(`({Tag: document.activeElement.tagName + " " + document.activeElement.className,
			Outline: getComputedStyle(document.activeElement).outlineStyle})`, &at))
		if strings.HasPrefix(at.Tag, "BODY") {
			break
		}
		if at.Outline == "none" {
			t.Errorf("no visible focus on %s", at.Tag)
		}
		seen = append(seen, at.Tag)
	}
	for _, want := range []string{"A skip", "SUMMARY ", "DIV scroll", "PRE ", "A "} {
		if !slices.Contains(seen, want) {
			t.Errorf("the keyboard does not reach %q; it reached %v", want, seen)
		}
	}
}

func TestPrint(t *testing.T) {
	b := newTab(t)
	b.open(t, serve(t, render(t, small().report(), FormatHTML, Style{})), 1280, "dark")
	var pdf []byte
	var faults []string
	b.run(t, emulation.SetEmulatedMedia().WithMedia("print"),
		chromedp.Evaluate(audits+"\nprinted()", &faults),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			pdf, _, err = page.PrintToPDF().WithPrintBackground(true).Do(ctx)
			return err
		}))
	for _, f := range faults {
		t.Error(f)
	}
	if !strings.HasPrefix(string(pdf), "%PDF") {
		t.Error("no PDF")
	}
	write(t, filepath.Join("..", "..", "bench-out", "report.pdf"), pdf)
}

func TestLargePageInChromium(t *testing.T) {
	b := newTab(t)
	url := serve(t, render(t, large(), FormatHTML, Style{}))
	start := time.Now()
	b.open(t, url, 1280, "light")
	var ms float64
	b.run(t, chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].loadEventEnd`, &ms))
	t.Logf("loaded in %.0f ms, %v in all", ms, time.Since(start))
	if ms > 3000 {
		t.Errorf("100,000 samples: the page took %.0f ms to load", ms)
	}
}
