//go:build cgo

#include "../engine/engine.c"
