package check

import (
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

func liveGPU() []Check {
	return []Check{
		seen("nvidia-driver-lib-mismatch", each(smiFails("driver/library version mismatch"))),
		seen("gpu-fell-off-bus", each(smiFails("unable to determine the device handle"))),
		seen("gpu-ecc-error", gpus(func(g site.GPUDevice) string {
			if g.Uncorrected == "" || g.Uncorrected == "0" || strings.HasPrefix(g.Uncorrected, "[") {
				return ""
			}
			return g.Uncorrected + " uncorrected ECC errors"
		})),
		{Code: "LIV040", Key: "gpu-pcie-narrow", Layer: "cuda", Severity: Warning,
			Title:  "a GPU's PCIe link has fewer lanes than it could",
			Cause:  "The link came up narrower than GPU and slot allow: a bad riser, dust in the slot or a failing board. (The generation also drops when a GPU is idle; that is normal.)",
			Breaks: "copies between host and GPU, and between GPU and network",
			Fix:    []Fix{admin("nvidia-smi -q -d PCIE; lspci -vvv | grep -E 'NVIDIA|LnkSta:'; reseat the board"), user("srun --exclude=NODE …")},
			Source: "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
			Live: gpus(func(g site.GPUDevice) string {
				if g.WidthNow == g.WidthMax || g.WidthNow == "" || g.WidthMax == "" || strings.HasPrefix(g.WidthNow, "[") {
					return ""
				}
				return "PCIe x" + g.WidthNow + " of x" + g.WidthMax
			})},
		{Code: "LIV041", Key: "gpu-persistence-off", Layer: "cuda", Severity: Info,
			Title:  "persistence mode is off",
			Cause:  "The driver lets go of the GPU when nobody uses it, and the next program waits seconds for it.",
			Breaks: "start of the first program; harmless otherwise",
			Fix:    []Fix{admin("systemctl enable --now nvidia-persistenced")},
			Source: "https://docs.nvidia.com/deploy/driver-persistence/index.html",
			Live: gpus(func(g site.GPUDevice) string {
				if g.Persistence != "Disabled" {
					return ""
				}
				return "persistence mode disabled"
			})},
	}
}

func smiFails(word string) func(site.Facts) []Evidence {
	return func(f site.Facts) []Evidence {
		if e := f.GPU.Error; e != nil && strings.Contains(strings.ToLower(e.Value), word) {
			return fact(f, e.Source, "%s", e.Value)
		}
		return nil
	}
}

func gpus(bad func(site.GPUDevice) string) func([]site.Facts) []Evidence {
	return func(nodes []site.Facts) []Evidence {
		var out []Evidence
		for _, f := range native(nodes) {
			if f.GPU.Devices == nil {
				continue
			}
			for _, g := range f.GPU.Devices.Value {
				if why := bad(g); why != "" {
					out = append(out, fact(f, "nvidia-smi", "GPU %d (%s): %s", g.Index, g.Name, why)...)
				}
			}
		}
		return out
	}
}
