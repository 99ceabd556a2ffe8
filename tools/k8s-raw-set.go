package tools

func k8sRawSetTool() Tool { return k8sSetTool("k8s-raw-set", k8sRawSpec) }
