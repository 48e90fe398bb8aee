"""The check of an application: started on one loop, on several and in processes, and asked."""
