// Nearmetal-xfer moves scattered pages between two processes over every NIC
// they have, and proves it: timed by the receiver, every page verified.
//
//	nearmetal-xfer server --listen ADDR:PORT --rails ADDR,ADDR;ADDR,ADDR
//	nearmetal-xfer client --connect ADDR:PORT --rails … --page 64K --duration 10s
//
//	root ──→ options ──→ node (engine, events) ──→ session (control channel)
//	                                                 ├─→ sink: offers, windows, verified pages
//	                                                 └─→ source: sends what is offered
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
