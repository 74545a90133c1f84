package image

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apptainer/sif/v2/pkg/sif"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// inspectName is Apptainer's name for the object that holds what `apptainer
// inspect` shows (pkg/image: SIFDescInspectMetadataJSON).
const inspectName = "inspect-metadata.json"

// maxObject bounds a definition or a metadata object, in bytes.
const maxObject = 16 << 20

// Layout of the SIF header, little-endian (apptainer/sif, pkg/sif: header).
const (
	headerSize   = 128
	magicAt      = 32
	descTotalAt  = 88
	descOffsetAt = 96
	descSizeAt   = 104
	descSize     = 585 // one descriptor
)

func (i *Image) sif(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fail.New(fail.Failed, "", "%w", err)
	}
	defer f.Close()
	if err := i.readSIF(f, size); err != nil {
		return fail.Usagef("apptainer sif list "+path, "%s: %w", path, err)
	}
	return nil
}

// readSIF reads the table of objects and the two small objects of interest.
func (i *Image) readSIF(r io.ReaderAt, size int64) error {
	if err := plausible(r, size); err != nil {
		return err
	}
	f, err := sif.LoadContainer(readOnly{r}, sif.OptLoadWithCloseOnUnload(false))
	if err != nil {
		return fmt.Errorf("not a readable SIF image: %w", err)
	}
	i.Kind, i.Size, i.UUID = KindSIF, size, f.ID()
	if t := f.CreatedAt().UTC(); t.Unix() > 0 {
		i.Created = &t
	}
	if arch := f.PrimaryArch(); arch != "unknown" {
		i.Arch = arch
	}
	f.WithDescriptors(func(d sif.Descriptor) bool {
		err = i.object(d, size)
		return err != nil
	})
	return err
}

// plausible refuses what the library would allocate memory for without looking
// at the file's size.
func plausible(r io.ReaderAt, size int64) error {
	var h [headerSize]byte
	n, err := r.ReadAt(h[:], 0)
	switch {
	case n >= magicAt+8 && !bytes.Equal(h[magicAt:magicAt+8], []byte("SIF_MAGI")):
		return errors.New("not a SIF image" + foreign(h[:n]))
	case n < headerSize && err != nil:
		return fmt.Errorf("not a SIF image: only %d bytes%s", size, foreign(h[:n]))
	}
	at := func(off int) int64 { return int64(binary.LittleEndian.Uint64(h[off:])) }
	total, offset, length := at(descTotalAt), at(descOffsetAt), at(descSizeAt)
	if total < 0 || offset < headerSize || total > (size-offset)/descSize || length < total*descSize || length > size-offset {
		return fmt.Errorf("damaged SIF image: its table of %d objects does not fit into %d bytes", total, size)
	}
	return nil
}

// foreign names what people mistake for a SIF image.
func foreign(h []byte) string {
	switch {
	case bytes.HasPrefix(h, []byte("hsqs")):
		return ": a bare squashfs file"
	case bytes.HasPrefix(h, []byte("\x7fELF")):
		return ": a program"
	case bytes.HasPrefix(h, []byte("\x1f\x8b")), bytes.HasPrefix(h, []byte("PK\x03\x04")):
		return ": a compressed archive (docker save? apptainer build IMG.sif docker-archive:FILE)"
	case bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(h)), []byte("bootstrap:")):
		return ": a definition file"
	}
	return ""
}

func (i *Image) object(d sif.Descriptor, size int64) error {
	if d.Offset() < 0 || d.Size() < 0 || d.Offset() > size || d.Size() > size-d.Offset() {
		return fmt.Errorf("truncated SIF image: object %d (%s) ends at byte %d of %d", d.ID(), d.DataType(), uint64(d.Offset())+uint64(d.Size()), size)
	}
	i.Objects = append(i.Objects, Object{d.ID(), d.DataType().String(), strings.ToValidUTF8(d.Name(), "?"), d.Size()})
	switch d.DataType() {
	case sif.DataSignature:
		i.Signatures++
	case sif.DataPartition:
		return i.partition(d)
	case sif.DataDeffile:
		b, err := small(d)
		i.Definition = string(b)
		return err
	case sif.DataGenericJSON:
		if d.Name() == inspectName {
			return i.metadata(d)
		}
	}
	return nil
}

func small(d sif.Descriptor) ([]byte, error) {
	if d.Size() > maxObject {
		return nil, fmt.Errorf("damaged SIF image: object %d (%s) has %d bytes", d.ID(), d.DataType(), d.Size())
	}
	b, err := d.GetData()
	if err != nil {
		return nil, fmt.Errorf("object %d (%s): %w", d.ID(), d.DataType(), err)
	}
	return b, nil
}

func (i *Image) partition(d sif.Descriptor) error {
	fs, kind, arch, err := d.PartitionMetadata()
	if err != nil {
		return fmt.Errorf("object %d: %w", d.ID(), err)
	}
	if kind != sif.PartPrimSys {
		return nil
	}
	i.Filesystem = fs.String()
	i.Encrypted = fs == sif.FsEncryptedSquashfs || fs == sif.FsGocryptfsSquashfs
	if i.Arch == "" && arch != "unknown" {
		i.Arch = arch
	}
	return nil
}

// metadata reads Apptainer's inspect.Metadata.
func (i *Image) metadata(d sif.Descriptor) error {
	b, err := small(d)
	if err != nil {
		return err
	}
	var m struct {
		Data struct {
			Attributes struct {
				Labels    map[string]string `json:"labels"`
				Runscript string            `json:"runscript"`
				Test      string            `json:"test"`
			} `json:"attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("damaged SIF image: object %d (%s): %w", d.ID(), inspectName, err)
	}
	a := m.Data.Attributes
	i.Labels, i.Runscript, i.Test = a.Labels, a.Runscript, a.Test
	return nil
}

// readOnly gives the library the ReadWriter it wants and refuses to write.
type readOnly struct{ io.ReaderAt }

var errReadOnly = errors.New("image is opened for reading")

func (readOnly) Write([]byte) (int, error)          { return 0, errReadOnly }
func (readOnly) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }
func (readOnly) Seek(int64, int) (int64, error)     { return 0, errReadOnly }
func (readOnly) Truncate(int64) error               { return errReadOnly }
func (readOnly) Read([]byte) (int, error)           { return 0, errReadOnly }
