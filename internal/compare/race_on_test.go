//go:build race

package compare

const raced = true
