package xfer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version of the control channel; both ends must speak the same.
const Version = 1

// MaxPayload is the most bytes a frame carries: room for the addresses and
// keys of 16 groups of 32 rails.
const MaxPayload = 1 << 20

const (
	magic       = 0x4e58 // "NX"
	headerBytes = 8
)

// Type of a frame.
type Type uint8

// Frames of the control channel. Whoever receives pages sends offers.
const (
	THello    Type = iota + 1 // client: what it wants, its rails and regions
	TWelcome                  // server: its rails and regions
	TReady                    // the sender of this frame has connected its rails
	TOffer                    // pages that may be written, in binary
	TMark                     // the receiver's window opens or closes: take your CPU time
	TUsage                    // answer to TMark
	TProgress                 // once a second, from the receiver
	TResult                   // the receiver's half of the result
	TError                    // why the sender of this frame gives up
	TPing                     // once a second from both ends
	TBye                      // the sender of this frame is done
	typeEnd
)

// Frame is one message: magic (2 bytes), version, type, length (4), payload;
// numbers are big-endian.
type Frame struct {
	Type    Type
	Payload []byte
}

// ErrFrame is a frame that no honest peer of this version sends.
var ErrFrame = errors.New("bad control frame")

// ReadFrame reads one frame. It never reads or keeps more than MaxPayload.
func ReadFrame(r io.Reader) (Frame, error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(h[4:])
	switch {
	case binary.BigEndian.Uint16(h[:]) != magic:
		return Frame{}, fmt.Errorf("%w: it does not begin with NX; is this a nearmetal-xfer?", ErrFrame)
	case h[2] != Version:
		return Frame{}, fmt.Errorf("%w: the peer speaks version %d, this program %d", ErrFrame, h[2], Version)
	case h[3] == 0 || Type(h[3]) >= typeEnd:
		return Frame{}, fmt.Errorf("%w: type %d", ErrFrame, h[3])
	case n > MaxPayload:
		return Frame{}, fmt.Errorf("%w: %d bytes, at most %d", ErrFrame, n, MaxPayload)
	}
	var b bytes.Buffer // grows with what arrives, not with what is promised
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return Frame{}, fmt.Errorf("%w: cut short: %w", ErrFrame, err)
	}
	return Frame{Type(h[3]), b.Bytes()}, nil
}

// Append adds the frame's bytes to b.
func (f Frame) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, magic)
	b = append(b, Version, byte(f.Type))
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Payload)))
	return append(b, f.Payload...)
}

// Encode makes a frame of a JSON value.
func Encode(t Type, v any) (Frame, error) {
	b, err := json.Marshal(v)
	if err == nil && len(b) > MaxPayload {
		err = fmt.Errorf("%w: %d bytes, at most %d", ErrFrame, len(b), MaxPayload)
	}
	return Frame{t, b}, err
}

// Decode reads a frame's JSON into v; unknown keys are an error.
func (f Frame) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(f.Payload))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: type %d: %w", ErrFrame, f.Type, err)
	}
	if d.More() {
		return fmt.Errorf("%w: type %d: more than one value", ErrFrame, f.Type)
	}
	return nil
}

// Offer says that a lane's pages, planned from Seed, may be written under Tag.
type Offer struct {
	Group uint16
	Lane  uint16
	Tag   uint8
	Seed  uint64
}

const offerBytes = 13

// Frame packs the offer.
func (o Offer) Frame() Frame {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, offerBytes), o.Group)
	b = binary.BigEndian.AppendUint16(b, o.Lane)
	b = append(b, o.Tag)
	return Frame{TOffer, binary.BigEndian.AppendUint64(b, o.Seed)}
}

// ParseOffer reads an offer and holds it to the agreed numbers.
func ParseOffer(b []byte, groups, lanes int) (Offer, error) {
	if len(b) != offerBytes {
		return Offer{}, fmt.Errorf("%w: an offer of %d bytes", ErrFrame, len(b))
	}
	o := Offer{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), b[4], binary.BigEndian.Uint64(b[5:])}
	if int(o.Group) >= groups || int(o.Lane) >= lanes {
		return Offer{}, fmt.Errorf("%w: an offer for group %d, lane %d of %d and %d", ErrFrame, o.Group, o.Lane, groups, lanes)
	}
	return o, nil
}
