package collect

import (
	"context"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

const gpuQuery = "index,name,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,mig.mode.current," +
	"ecc.mode.current,ecc.errors.uncorrected.volatile.total,persistence_mode"

// gpu asks nvidia-smi, which every driver brings along.
func (c *Collector) gpu(ctx context.Context) site.GPU {
	var g site.GPU
	if text, ok := c.text("proc/driver/nvidia/version"); ok {
		first, _, _ := strings.Cut(text, "\n")
		g.Driver = site.Of(first, "/proc/driver/nvidia/version")
	}
	if _, err := c.Run.Look("nvidia-smi"); err != nil {
		return g
	}
	argv := []string{"nvidia-smi", "--query-gpu=" + gpuQuery, "--format=csv,noheader,nounits"}
	text, ok := c.output(ctx, argv...)
	if !ok {
		g.Error = site.Of(lastLines(text, 3), "nvidia-smi")
		return g
	}
	g.Devices = site.Of(parseGPUs(text), strings.Join(argv, " "))
	return g
}

func parseGPUs(text string) []site.GPUDevice {
	var out []site.GPUDevice
	for _, line := range strings.Split(text, "\n") {
		f := strings.Split(line, ",")
		if len(f) != 10 {
			continue
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		index, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		out = append(out, site.GPUDevice{Index: index, Name: f[1], GenNow: f[2], GenMax: f[3], WidthNow: f[4], WidthMax: f[5],
			MIG: f[6], ECC: f[7], Uncorrected: f[8], Persistence: f[9]})
	}
	return out
}
