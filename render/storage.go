package render

import (
	"fmt"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// StorageRows is what "storage" shows.
func StorageRows(all []state.StorageView) [][]Cell {
	if len(all) == 0 {
		return nil
	}
	rows := [][]Cell{Heads("Unit", "Storage ID", "Type", "Pool", "Size", "Status", "Message")}
	for _, v := range all {
		s := v.Status()
		rows = append(rows, []Cell{
			{Text: string(v.Unit)}, {Text: string(v.ID)}, {Text: v.Kind}, {Text: v.Pool}, {Text: sizeOf(v)}, StatusCell(s.Status), message(s.Message),
		})
	}
	return rows
}

// sizeOf is the size of storage for people.
func sizeOf(v state.StorageView) string { return model.SizeText(v.Size) }

// statusStorageRows is what "status --storage" shows. Source: docs/spec/cli-juju.md
// §2b.
func statusStorageRows(all []state.StorageView) [][]Cell {
	if len(all) == 0 {
		return nil
	}
	rows := [][]Cell{Heads("Storage Unit", "Storage ID", "Type", "Pool", "Mountpoint", "Size", "Status", "Message")}
	for _, v := range all {
		s, where := v.Status(), ""
		if v.Attachment != nil {
			where = v.Attachment.Location
		}
		rows = append(rows, []Cell{
			{Text: string(v.Unit)}, {Text: string(v.ID)}, {Text: v.Kind}, {Text: v.Pool}, {Text: where}, {Text: sizeOf(v)},
			StatusCell(s.Status), message(s.Message),
		})
	}
	return rows
}

// StorageTree is the storage in "status --format json". Source:
// docs/spec/cli-juju.md §2.1.
func StorageTree(all []state.StorageView, utc bool) Tree {
	if len(all) == 0 {
		return Tree{}
	}
	instances, filesystems, volumes := Tree{}, Tree{}, Tree{}
	for _, v := range all {
		instances[string(v.ID)] = StorageInstanceTree(v, utc)
		t := Tree{"storage": string(v.ID), "pool": v.Pool, "size": v.Size, "status": statusInfo(v.Status(), utc, false), "life": v.Life.String()}
		if v.Attachment != nil {
			at := Tree{"read-only": v.ReadOnly, "life": attachmentLife(v), "mount-point": v.Attachment.Location}
			if v.Kind == model.Block {
				at = Tree{"read-only": v.ReadOnly, "life": attachmentLife(v), "device": v.Attachment.Location}
			}
			t["attachments"] = Tree{"units": Tree{string(v.Unit): at}}
		}
		if v.Kind == model.Block {
			t["persistent"] = PersistentStorage(v)
			volumes[fmt.Sprint(v.ID.Number())] = t
		} else {
			filesystems[fmt.Sprint(v.ID.Number())] = t
		}
	}
	t := Tree{"storage": instances}
	if len(filesystems) > 0 {
		t["filesystems"] = filesystems
	}
	if len(volumes) > 0 {
		t["volumes"] = volumes
	}
	return t
}

// StorageInstanceTree is one instance, as "show-storage" has it too.
func StorageInstanceTree(v state.StorageView, utc bool) Tree {
	t := Tree{
		"kind": v.Kind, "life": v.Life.String(), "status": statusInfo(v.Status(), utc, false), "persistent": PersistentStorage(v),
	}
	if v.Attachment != nil {
		t["attachments"] = Tree{"units": Tree{string(v.Unit): Tree{"location": v.Attachment.Location, "life": attachmentLife(v)}}}
	}
	return t
}

func attachmentLife(v state.StorageView) string {
	if v.Going {
		return model.Dying.String()
	}
	return model.Alive.String()
}

// PersistentStorage says whether storage outlives the unit that it was made for.
func PersistentStorage(v state.StorageView) bool {
	p, _ := model.StorageProviderOf(v.Provider)
	return p.Persistent
}
