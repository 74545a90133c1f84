package site

// Fact is an observed value and where it came from, a path or a command. A nil
// *Fact was not observed, which is never the same as zero.
type Fact[T any] struct {
	Value  T      `json:"value"`
	Source string `json:"source"`
}

// Facts is what is true of one node, seen natively or inside an image.
type Facts struct {
	Node  string `json:"node"`
	Image string `json:"image,omitempty"` // "" natively
}
