//go:build cgo

#include "../engine/rail.c"
