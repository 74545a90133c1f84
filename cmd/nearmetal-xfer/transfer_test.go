//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// startServer runs a server on loopback; it gives its address and what it says.
func startServer(t *testing.T, flags ...string) (addr string, said <-chan string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	done := make(chan int, 1)
	args := append([]string{"server", "--listen", "127.0.0.1:0", "--rails", "127.0.0.1,127.0.0.1"}, flags...)
	go func() { done <- run(ctx, args, io.Discard, w); w.Close() }()
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case code := <-done:
			if code != fail.OK {
				t.Errorf("the server ended with %d", code)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server hangs")
		}
	})
	first := <-lines
	_, rest, ok := strings.Cut(first, "listening on ")
	addr, _, _ = strings.Cut(rest, ": ")
	if !ok {
		t.Fatalf("the server said %q", first)
	}
	return addr, lines
}

func client(ctx context.Context, addr string, flags ...string) (xfer.Result, string, int) {
	var out, talk bytes.Buffer
	args := append([]string{"client", "--json", "--connect", addr, "--rails", "127.0.0.1,127.0.0.1", "--pool", "16M", "--warm-up", "0s"}, flags...)
	code := run(ctx, args, &out, &talk)
	var r xfer.Result
	if code == fail.OK {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			return r, err.Error(), fail.Failed
		}
	}
	return r, talk.String(), code
}

func TestEveryModeVerifiesEveryPage(t *testing.T) {
	addr, _ := startServer(t)
	for mode, pages := range map[string][]string{"send": {"1", "4K", "1M"}, "recv": {"64K"}, "both": {"4K"}} {
		for _, page := range pages {
			r, talk, code := client(t.Context(), addr, "--mode", mode, "--page", page, "--pages", "8", "--gap", "192", "--count", "500")
			if code != fail.OK {
				t.Fatalf("%s %s: exit %d\n%s", mode, page, code, talk)
			}
			want := map[string]int{"send": 1, "recv": 1, "both": 2}[mode]
			if !r.Verified || len(r.Receivers) != want || r.Receivers[0].TotalPages < 500 || r.Receivers[0].BadPages != 0 {
				t.Errorf("%s %s: %+v", mode, page, r)
			}
			if nic := r.Receivers[0].NICBytes; len(nic) != 2 {
				t.Errorf("%s %s: NIC bytes %v, want those of two rails", mode, page, nic)
			}
		}
	}
}

func TestBothEndsMustHaveTheSameRails(t *testing.T) {
	addr, _ := startServer(t)
	_, talk, code := client(t.Context(), addr, "--rails", "127.0.0.1", "--count", "1")
	if code != fail.Failed || !strings.Contains(talk, "same rails") {
		t.Errorf("exit %d\n%s", code, talk)
	}
}

func TestAGreedyClientIsRefused(t *testing.T) {
	addr, _ := startServer(t, "--max-memory", "1M")
	_, talk, code := client(t.Context(), addr, "--count", "1")
	if code != fail.Failed || !strings.Contains(talk, "at most 1048576 here") {
		t.Errorf("exit %d\n%s", code, talk)
	}
}

// Clients come, are cut off in the middle and send rubbish, while one goes on.
func TestALostPeerHurtsNobodyElse(t *testing.T) {
	addr, said := startServer(t)
	type end struct {
		r    xfer.Result
		talk string
		code int
	}
	steady := make(chan end, 1)
	go func() {
		r, talk, code := client(t.Context(), addr, "--mode", "both", "--page", "4K", "--duration", "3s")
		steady <- end{r, talk, code}
	}()
	for i := range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond+time.Duration(i)*80*time.Millisecond)
		_, talk, code := client(ctx, addr, "--mode", "both", "--page", "64K", "--duration", "60s")
		cancel()
		if code != fail.Failed {
			t.Errorf("a client cut off ended with %d\n%s", code, talk)
		}
		rubbish(t, addr, i)
	}
	e := <-steady
	if e.code != fail.OK || !e.r.Verified || len(e.r.Receivers) != 2 {
		t.Errorf("the steady client: exit %d, %+v\n%s", e.code, e.r, e.talk)
	}
	for range 5 {
		select {
		case line := <-said:
			if !strings.HasPrefix(line, "client 127.0.0.1:") {
				t.Errorf("the server said %q", line)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the server did not tell of the lost clients")
		}
	}
	if r, talk, code := client(t.Context(), addr, "--count", "100"); code != fail.OK || !r.Verified {
		t.Errorf("afterwards: exit %d\n%s", code, talk)
	}
}

// rubbish is what a hostile peer may try on the control channel.
func rubbish(t *testing.T, addr string, i int) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello := xfer.Hello{Mode: xfer.Recv, Duration: 1, Geometry: xfer.Geometry{PageSize: 4096, Pages: 1, Lanes: 1, Slots: 1},
		Side: xfer.Side{Endpoints: [][]xfer.Endpoint{{{Address: make([]byte, 200)}, {}}}, Target: [][]xfer.Key{{{}, {}}}}}
	f, err := xfer.Encode(xfer.THello, hello)
	if err != nil {
		t.Fatal(err)
	}
	all := [][]byte{
		[]byte("GET / HTTP/1.0\r\n\r\n"), f.Append(nil), xfer.Frame{Type: xfer.TOffer}.Append(nil),
		append(f.Append(nil), xfer.Frame{Type: xfer.TReady}.Append(nil)...), {'N', 'X', xfer.Version, 1, 255, 255, 255, 255},
	}
	fmt.Fprintf(c, "%s", all[i%len(all)])
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(io.Discard, c) // until the server hangs up
}
