package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

const p4dXML = "../site/topo/testdata/p4d-24xl-topo.xml"

func TestTopoOfAnNCCLFile(t *testing.T) {
	code, out, errs := call(t, nil, "topo", "--nccl", p4dXML)
	if code != fail.OK || strings.Count(out, "\n") != 5 || !strings.Contains(out, "0000:10:1c.0, 0000:10:1d.0") {
		t.Error(code, out, errs)
	}
	code, out, errs = call(t, nil, "topo", "--json", "--nccl", p4dXML)
	var doc topoDocument
	if err := json.Unmarshal([]byte(out), &doc); code != fail.OK || err != nil || doc.Schema != "nearmetal/topo/v1" || len(doc.Groups) != 4 {
		t.Error(code, err, out, errs)
	}
}

func TestTopoWithoutDevices(t *testing.T) {
	code, out, errs := call(t, nil, "topo", "--sysfs", t.TempDir())
	if code != fail.OK || !strings.Contains(out, "neither GPUs nor NICs") {
		t.Error(code, out, errs)
	}
	code, out, _ = call(t, nil, "topo", "--json", "--sysfs", t.TempDir())
	if code != fail.OK || !strings.Contains(out, `"groups": []`) {
		t.Error(code, out)
	}
	if code, _, errs = call(t, nil, "topo", "--nccl", "no-such.xml"); code != fail.Failed || !strings.Contains(errs, "hint: ") {
		t.Error(code, errs)
	}
}
