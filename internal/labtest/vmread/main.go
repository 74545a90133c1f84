// Vmread says whether rank 1 of a step can read rank 0's memory as MPI's
// single-copy does, and in which user namespace each is:
//
//	vmread DIR    prints "userns INODE" per rank, and from rank 1 "read ok" or the error
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var secret = [4096]byte{1: 42}

func main() {
	file := filepath.Join(os.Args[1], "rank0")
	ns, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		fail(err)
	}
	fmt.Println("userns", ns)
	if os.Getenv("SLURM_PROCID") == "0" {
		offer(file)
		return
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil {
			read(string(b))
			_ = os.WriteFile(file+".done", nil, 0o644)
			return
		}
	}
	fail(fmt.Errorf("no %s", file))
}

// offer writes down our pid and address, and stays until they have been used.
func offer(file string) {
	text := fmt.Sprintf("%d %d", os.Getpid(), uintptr(unsafe.Pointer(&secret)))
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		fail(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		fail(err)
	}
	for range 4000 {
		if _, err := os.Stat(file + ".done"); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func read(text string) {
	var pid int
	var addr uintptr
	if _, err := fmt.Sscan(text, &pid, &addr); err != nil {
		fail(err)
	}
	got := make([]byte, len(secret))
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &got[0], Len: uint64(len(got))}}, []unix.RemoteIovec{{Base: addr, Len: len(got)}}, 0)
	switch {
	case err != nil:
		fmt.Println("read", err)
	case n != len(got) || got[1] != 42:
		fmt.Println("read wrong bytes", n)
	default:
		fmt.Println("read ok")
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "vmread:", err)
	os.Exit(1)
}
