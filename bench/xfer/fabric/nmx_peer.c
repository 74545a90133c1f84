//go:build cgo

#include "../engine/peer.c"
