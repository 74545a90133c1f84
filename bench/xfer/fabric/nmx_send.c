//go:build cgo

#include "../engine/send.c"
