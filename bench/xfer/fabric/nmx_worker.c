//go:build cgo

#include "../engine/worker.c"
