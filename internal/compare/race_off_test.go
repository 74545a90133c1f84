//go:build !race

package compare

const raceFactor = 1
