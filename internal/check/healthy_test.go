package check

import (
	"path/filepath"
	"testing"
)

// TestHealthy holds that runs that went well raise no alarm: at most two
// warnings or errors over all of them. Harmless noise may be named.
func TestHealthy(t *testing.T) {
	logs, err := filepath.Glob("testdata/healthy/*.*")
	if err != nil || len(logs) < 40 {
		t.Fatalf("%d healthy logs, want 40", len(logs))
	}
	alarms := 0
	for _, path := range logs {
		if filepath.Ext(path) == ".md" {
			continue
		}
		for _, f := range diagnose(t, path, "") {
			if f.Severity != Info {
				alarms++
				t.Logf("%s: %s (%d) %v", filepath.Base(path), f.Key, f.Score, f.Evidence)
			}
		}
	}
	t.Logf("%d alarms on %d logs", alarms, len(logs))
	if alarms > 2 {
		t.Errorf("%d false alarms on %d healthy logs", alarms, len(logs))
	}
}
