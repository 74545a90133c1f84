//go:build cgo

#include "../engine/receive.c"
