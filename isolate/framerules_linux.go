package isolate

import (
	"encoding/binary"
	"slices"
	"syscall"
	"time"

	"github.com/google/nftables/expr"
	"github.com/juju/errors"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// frameRules are rules of this process's in the host's kernel: a table of nftables, of
// the family of bridges, that the kernel takes away with the socket, however this process
// ends. The library in use elsewhere can't make a table that is a socket's, so this
// writes the messages itself. Source: docs/spec/machine-isolation.md §7.
type frameRules struct {
	table string
	fd    int
	seq   uint32
	made  bool
}

// What the library doesn't name.
const (
	tableOwned     = 2    // NFT_TABLE_F_OWNER
	bridgePriority = -200 // NF_BR_PRI_FILTER_BRIDGED
)

// frameHooks are the numbers of the kernel's hooks of bridges (NF_BR_…).
var frameHooks = []struct {
	hook   frameHook
	number uint32
}{{arriving, 0}, {crossing, 2}, {departing, 4}}

// openFrameRules opens the socket; the table is made by the first call of set.
func openFrameRules(table string) (*frameRules, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, noFrameRules(err)
	}
	f := &frameRules{table: table, fd: fd}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20) // for many rules
	patient := unix.NsecToTimeval(patience.Nanoseconds())
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patient)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		f.close()
		return nil, noFrameRules(err)
	}
	return f, nil
}

// close takes the rules away.
func (f *frameRules) close() { _ = unix.Close(f.fd) }

// noFrameRules is that this host has no such rules.
func noFrameRules(err error) error {
	return errors.WithType(errors.Annotate(err, "frames can't be dropped on the units' network, which takes root, Linux 5.12 and nftables for bridges"), ErrNoRights)
}

// set puts these rules in the place of the former ones, all at once.
func (f *frameRules) set(rules []frameRule) error {
	var batch []byte
	add := func(kind int, flags uint16, family uint8, res uint16, data []byte) {
		f.seq++
		batch = append(batch, message(kind, flags, f.seq, family, res, data)...)
	}
	const nft = unix.NFNL_SUBSYS_NFTABLES
	put := func(kind int, flags uint16, attrs ...*nl.RtAttr) {
		add(nft<<8|kind, flags, unix.NFPROTO_BRIDGE, 0, serialized(attrs))
	}
	add(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, nft, nil)
	table := text(unix.NFTA_TABLE_NAME, f.table)
	if f.made {
		put(unix.NFT_MSG_DELRULE, 0, text(unix.NFTA_RULE_TABLE, f.table))
	} else {
		put(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, table, number(unix.NFTA_TABLE_FLAGS, tableOwned))
		for _, h := range frameHooks {
			hook := nested(unix.NFTA_CHAIN_HOOK, number(unix.NFTA_HOOK_HOOKNUM, h.number), number(unix.NFTA_HOOK_PRIORITY, priority(bridgePriority)))
			put(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, text(unix.NFTA_CHAIN_TABLE, f.table), text(unix.NFTA_CHAIN_NAME, string(h.hook)), hook, text(unix.NFTA_CHAIN_TYPE, "filter"))
		}
	}
	for _, r := range rules {
		exprs, err := r.expressions()
		if err != nil {
			return errors.Trace(err)
		}
		put(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, text(unix.NFTA_RULE_TABLE, f.table), text(unix.NFTA_RULE_CHAIN, string(r.at)), nested(unix.NFTA_RULE_EXPRESSIONS, exprs...))
	}
	// The last one asks for an answer; one that can't be done is answered in any case.
	put(unix.NFT_MSG_NEWTABLE, unix.NLM_F_ACK, table)
	last := f.seq
	add(unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC, nft, nil)
	if err := unix.Sendto(f.fd, batch, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return noFrameRules(err)
	}
	if err := f.answered(last); err != nil {
		return noFrameRules(err)
	}
	f.made = true
	return nil
}

// answered waits for the answer to the last message of a batch; an error is that of any
// of them.
func (f *frameRules) answered(last uint32) error {
	b := make([]byte, 1<<16)
	for over := time.Now().Add(patience); time.Now().Before(over); {
		n, _, err := unix.Recvfrom(f.fd, b, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(b[:n])
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Type != unix.NLMSG_ERROR || len(m.Data) < 4 {
				continue
			}
			if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
				return unix.Errno(-code)
			}
			if m.Header.Seq == last {
				return nil
			}
		}
	}
	return unix.ETIMEDOUT
}

// expressions are a rule as the kernel takes it.
func (r frameRule) expressions() ([]*nl.RtAttr, error) {
	var all []expr.Any
	port := func(key expr.MetaKey, name string) {
		if name != "" {
			padded := make([]byte, unix.IFNAMSIZ)
			copy(padded, name)
			all = append(all, &expr.Meta{Key: key, Register: 1}, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: padded})
		}
	}
	port(expr.MetaKeyIIFNAME, r.in)
	port(expr.MetaKeyOIFNAME, r.out)
	if r.chance < MaxLoss {
		all = append(all,
			&expr.Numgen{Register: 1, Modulus: MaxLoss, Type: unix.NFT_NG_RANDOM},
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(r.chance))})
	}
	all = append(all, &expr.Verdict{Kind: expr.VerdictDrop})
	var attrs []*nl.RtAttr
	for _, e := range all {
		b, err := expr.Marshal(unix.NFPROTO_BRIDGE, e)
		if err != nil {
			return nil, errors.Trace(err)
		}
		attrs = append(attrs, nl.NewRtAttr(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, b))
	}
	return attrs, nil
}

// message is a message of netlink for netfilter.
func message(kind int, flags uint16, seq uint32, family uint8, res uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+4+len(data)))
	b = binary.NativeEndian.AppendUint16(b, uint16(kind))
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|flags)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = append(b, family, unix.NFNETLINK_V0)
	b = binary.BigEndian.AppendUint16(b, res)
	return slices.Concat(b, data) // attributes end at multiples of 4
}

func priority(n int32) uint32 { return uint32(n) }

func text(kind int, s string) *nl.RtAttr { return nl.NewRtAttr(kind, nl.ZeroTerminated(s)) }

func number(kind int, n uint32) *nl.RtAttr {
	return nl.NewRtAttr(kind, binary.BigEndian.AppendUint32(nil, n))
}

func nested(kind int, attrs ...*nl.RtAttr) *nl.RtAttr {
	return nl.NewRtAttr(kind|unix.NLA_F_NESTED, serialized(attrs))
}

func serialized(attrs []*nl.RtAttr) []byte {
	var b []byte
	for _, a := range attrs {
		b = append(b, a.Serialize()...)
	}
	return b
}
