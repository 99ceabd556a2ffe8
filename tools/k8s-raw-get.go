package tools

func k8sRawGetTool() Tool { return k8sGetTool("k8s-raw-get", k8sRawSpec) }
