//go:build race

package compare

const raceFactor = 15 // the race detector's own slow-down
