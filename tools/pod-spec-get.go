package tools

func podSpecGetTool() Tool { return k8sGetTool("pod-spec-get", k8sPodSpec) }
