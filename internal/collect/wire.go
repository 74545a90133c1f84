package collect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

// Facts of many nodes come through one srun, which mixes the lines of its
// tasks with each other and with whatever a site's prolog prints. They travel
// as short marked lines:
//
//	nearmetal-facts ID SEQ TOTAL BASE64
//
// where the pieces of one ID make gzip'd JSON.
const (
	wireMark  = "nearmetal-facts"
	wirePiece = 720     // bytes before base64; a line stays below 1 KiB
	maxWire   = 8 << 20 // bytes of one node's JSON
	maxPieces = 1 << 14
)

// Encode writes the facts for Decode; id tells senders apart.
func Encode(w io.Writer, id string, facts []site.Facts) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := json.NewEncoder(z).Encode(facts); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	b := packed.Bytes()
	total := (len(b) + wirePiece - 1) / wirePiece
	for i := range total {
		piece := b[i*wirePiece : min((i+1)*wirePiece, len(b))]
		if _, err := fmt.Fprintf(w, "%s %s %d %d %s\n", wireMark, id, i, total, base64.StdEncoding.EncodeToString(piece)); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads what any number of Encodes wrote, in any order of lines and
// between others. A sender of which a piece is missing is an error, and the
// others' facts are given all the same.
func Decode(r io.Reader) ([]site.Facts, error) {
	senders := map[string][][]byte{}
	var order []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		id, seq, total, piece, ok := wireLine(s.Text())
		if !ok {
			continue
		}
		if senders[id] == nil {
			senders[id] = make([][]byte, total)
			order = append(order, id)
		}
		if seq < len(senders[id]) {
			senders[id][seq] = piece
		}
	}
	var out []site.Facts
	err := s.Err()
	for _, id := range order {
		facts, bad := unpack(senders[id])
		if bad != nil {
			err = fmt.Errorf("facts of %s: %w", id, bad)
		}
		out = append(out, facts...)
	}
	return out, err
}

func wireLine(line string) (id string, seq, total int, piece []byte, ok bool) {
	at := strings.Index(line, wireMark+" ")
	if at < 0 {
		return "", 0, 0, nil, false
	}
	f := strings.Fields(line[at:])
	if len(f) != 5 {
		return "", 0, 0, nil, false
	}
	seq, err1 := strconv.Atoi(f[2])
	total, err2 := strconv.Atoi(f[3])
	piece, err3 := base64.StdEncoding.DecodeString(f[4])
	ok = err1 == nil && err2 == nil && err3 == nil && seq >= 0 && seq < total && total <= maxPieces
	return f[1], seq, total, piece, ok
}

func unpack(pieces [][]byte) ([]site.Facts, error) {
	for i, p := range pieces {
		if p == nil {
			return nil, fmt.Errorf("piece %d of %d is missing", i+1, len(pieces))
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(bytes.Join(pieces, nil)))
	if err != nil {
		return nil, err
	}
	var facts []site.Facts
	err = json.NewDecoder(io.LimitReader(z, maxWire)).Decode(&facts)
	return facts, err
}
