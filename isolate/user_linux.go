package isolate

func userRoot(s setUp, root string) ([]string, error) { return nil, ErrNoRights }
