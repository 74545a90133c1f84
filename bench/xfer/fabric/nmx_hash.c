//go:build cgo

#include "../engine/hash.c"
