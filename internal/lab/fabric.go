package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// bridgeName is the lab's switch, in the fabric's network namespace.
const bridgeName = "br0"

// startFabric starts the process that holds the lab's network namespace, which
// has no link to the machine's own network.
func (l *Lab) startFabric(ctx context.Context) (proc, error) {
	c, err := l.spawn(argFabric, unix.CLONE_NEWNET, l.marks(fabric), 0)
	if err != nil {
		return proc{}, err
	}
	pid := c.proc.Pid
	if err := errors.Join(c.configure(struct{}{}), c.ready(ctx)); err != nil {
		return proc{}, fmt.Errorf("the lab's network: %w", err)
	}
	return proc{pid: pid, id: l.ID(), dir: l.Dir, node: fabric}, nil
}

// marks is the whole environment of a process that holds the lab up.
func (l *Lab) marks(node string) []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		markID + "=" + l.ID(), markDir + "=" + l.Dir, markNode + "=" + node,
	}
}

// fabricInit runs in the new network namespace: it makes the bridge and then
// becomes a program that only sleeps.
func fabricInit() error {
	if err := readConfig(&struct{}{}); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridgeName
	br := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(br); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if err := errors.Join(linkUp("lo"), netlink.LinkSetUp(br)); err != nil {
		return err
	}
	return becomeSleeper([]string{"/bin/sleep", "infinity"})
}

// becomeSleeper says ready, lets go of the pipes and runs argv in our place,
// with the marks still in its environment.
func becomeSleeper(argv []string) error {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	fmt.Println(readyLine)
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

func linkUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return netlink.LinkSetUp(link)
}

// plug joins a node to the bridge: one end of a veth pair becomes the node's
// eth0, by its pid.
func plug(fabricPid int, node string, nodePid int) error {
	ns, err := netns.GetFromPid(fabricPid)
	if err != nil {
		return err
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns)
	if err != nil {
		return err
	}
	defer h.Close()
	br, err := h.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = "v-"+node, br.Attrs().Index
	// A node that was killed may still be leaving the bridge.
	if old, err := h.LinkByName(attrs.Name); err == nil {
		_ = h.LinkDel(old)
	}
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsPid(nodePid)}
	if err := h.LinkAdd(veth); err != nil {
		return fmt.Errorf("veth: %w", err)
	}
	return h.LinkSetUp(veth)
}

// address is the node's side: lo and eth0 up, eth0 with its address.
func address(ip string) error {
	eth, err := netlink.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("eth0: %w", err)
	}
	a := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(24, 32)}}
	return errors.Join(linkUp("lo"), netlink.AddrAdd(eth, a), netlink.LinkSetUp(eth))
}
