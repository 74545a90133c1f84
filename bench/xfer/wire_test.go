package xfer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFramesComeBack(t *testing.T) {
	hello := Hello{Mode: Send, Geometry: Geometry{PageSize: 4096, Pages: 2, Lanes: 1, Slots: 2}, Duration: 1,
		Side: Side{Endpoints: [][]Endpoint{{{Address: []byte{1, 2}, Warm: Key{3, 4}}}}}}
	f, err := Encode(THello, hello)
	if err != nil {
		t.Fatal(err)
	}
	o := Offer{Group: 7, Lane: 3, Tag: 200, Seed: 1 << 63}
	in := bytes.NewReader(o.Frame().Append(f.Append(nil)))
	got, err := ReadFrame(in)
	if err != nil {
		t.Fatal(err)
	}
	var back Hello
	if err := got.Decode(&back); err != nil || back.Side.Endpoints[0][0].Warm != (Key{3, 4}) || back.Geometry != hello.Geometry {
		t.Errorf("%+v %v", back, err)
	}
	got, err = ReadFrame(in)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := ParseOffer(got.Payload, 8, 4); err != nil || p != o {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := ReadFrame(in); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
}

func TestBadFramesAreRefused(t *testing.T) {
	good := Frame{TPing, nil}.Append(nil)
	edit := func(i int, v byte) []byte { b := bytes.Clone(good); b[i] = v; return b }
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"another protocol": {[]byte("GET / HTTP/1.1\r\n"), "NX"},
		"another version":  {edit(2, 9), "version 9"},
		"type zero":        {edit(3, 0), "type 0"},
		"unknown type":     {edit(3, byte(typeEnd)), "type"},
		"4 GB promised":    {append(edit(4, 255), 1, 2, 3), "at most"},
		"cut short":        {edit(7, 5), "cut short"},
	} {
		if _, err := ReadFrame(bytes.NewReader(c.in)); !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOffersStayWithinWhatWasAgreed(t *testing.T) {
	for _, o := range []Offer{{Group: 2}, {Lane: 4}, {Group: 65535, Lane: 65535}} {
		if _, err := ParseOffer(o.Frame().Payload, 2, 4); !errors.Is(err, ErrFrame) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := ParseOffer(make([]byte, offerBytes+1), 2, 4); !errors.Is(err, ErrFrame) {
		t.Error("a longer offer was taken")
	}
}

func TestHelloIsHeldToLimits(t *testing.T) {
	good := Hello{Mode: Both, Duration: 1, Geometry: Geometry{PageSize: 4096, Pages: 8, Lanes: 2, Slots: 16, Gap: 64}}
	if err := good.Check(1 << 20); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Hello){
		"mode":        func(h *Hello) { h.Mode = "sideways" },
		"no end":      func(h *Hello) { h.Duration = 0 },
		"negative":    func(h *Hello) { h.WarmUp = -1 },
		"page size":   func(h *Hello) { h.Geometry.PageSize = 0 },
		"huge page":   func(h *Hello) { h.Geometry.PageSize = MaxPageSize + 1 },
		"lanes":       func(h *Hello) { h.Geometry.Lanes = MaxLanes + 1 },
		"slots":       func(h *Hello) { h.Geometry.Slots = 7 },
		"many slots":  func(h *Hello) { h.Geometry.Slots = MaxPages + 1 },
		"crooked gap": func(h *Hello) { h.Geometry.Gap = 63 },
		"memory":      func(h *Hello) { h.Geometry.Slots = 1 << 19 },
	} {
		h := good
		spoil(&h)
		if h.Check(1<<20) == nil {
			t.Errorf("%s: %+v was taken", name, h)
		}
	}
}

// FuzzControl feeds the control channel what a hostile peer may send: nothing
// panics, nothing larger than MaxPayload is kept, and what is taken is within
// the limits.
func FuzzControl(f *testing.F) {
	f.Add(Offer{Group: 1, Lane: 1, Tag: 3, Seed: 4}.Frame().Append(nil))
	f.Add(Frame{THello, []byte(`{"mode":"send","geometry":{"page_size":4096,"pages":1,"lanes":1,"slots":1},"duration_ns":1}`)}.Append(nil))
	f.Add(Frame{TWelcome, []byte(`{"endpoints":[[{"address":"AAA="}]],"target":[[{"key":1}]]}`)}.Append(nil))
	f.Add([]byte("NX\x01\x04\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		for {
			frame, err := ReadFrame(r)
			if err != nil {
				return
			}
			if len(frame.Payload) > MaxPayload {
				t.Fatalf("%d bytes kept", len(frame.Payload))
			}
			checkFrame(t, frame)
		}
	})
}

func checkFrame(t *testing.T, f Frame) {
	if o, err := ParseOffer(f.Payload, 2, 3); err == nil && (o.Group > 1 || o.Lane > 2) {
		t.Fatalf("taken: %+v", o)
	}
	var h Hello
	if f.Decode(&h) == nil && h.Check(1<<30) == nil {
		if g := h.Geometry; g.TargetBytes() > 1<<30 || g.SourceBytes() > 1<<30 || g.SourceBytes() < 1 {
			t.Fatalf("taken: %+v", g)
		}
	}
	var s Side
	if f.Decode(&s) == nil && s.Check(1, 1, true) == nil && (len(s.Endpoints[0]) != 1 || len(s.Target[0]) != 1) {
		t.Fatalf("taken: %+v", s)
	}
}
